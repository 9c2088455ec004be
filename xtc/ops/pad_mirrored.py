# SPDX-License-Identifier: Apache-2.0
"""pad_mirrored: a tensor with a border of mirrored elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_choice, check_operands, operand_type, user_function
from xtc.ops.border import Border, border_of, check_border
from xtc.ops.gathering import INDEX, Rearrangement
from xtc.ops.pad import padded_type

MODES = ("reflect", "edge", "wrap")


@dataclass(frozen=True)
class PadMirrored(Rearrangement):
    """Dimension d grows by `padding[d] = (before, after)` elements of x itself.

    They repeat the edge element ("edge"), mirror at it ("reflect") or continue from the other end
    ("wrap"), periodically if the border is wide.
    """

    name: ClassVar[str] = "pad_mirrored"
    padding: Border
    mode: str = "reflect"

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        check_border(self.name, self.padding, x)
        check_choice(self.name, "mode", self.mode, MODES)
        return padded_type(x, self.padding)

    def source(
        self, body: ScalarBuilder, x: TensorType, position: Sequence[Scalar]
    ) -> list[Scalar]:
        ends = zip(position, x.sizes, self.padding, strict=True)
        return [
            self._inside(body, index, size, before) if before or after else index
            for index, size, (before, after) in ends
        ]

    def _inside(self, body: ScalarBuilder, index: Scalar, size: int, before: int) -> Scalar:
        moved = body.sub(index, body.constant(before, INDEX))
        if self.mode == "edge" or size == 1:
            return body.clamp(moved, size)
        period = size if self.mode == "wrap" else 2 * (size - 1)
        # Adds enough periods to be positive, so that remainders need no correction.
        lifted = body.add(moved, body.constant(-(-before // period) * period, INDEX))
        rest = body.remainder(lifted, body.constant(period, INDEX))
        if self.mode == "wrap":
            return rest
        return body.minimum(rest, body.sub(body.constant(period, INDEX), rest))

    def reference(self, *arrays: Array) -> Array:
        result: Array = np.pad(arrays[0], self.padding, mode=self.mode)  # type: ignore[call-overload]
        return result


@user_function
def pad_mirrored(
    x: Tensor,
    padding: object,
    *,
    mode: str = "reflect",
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """`x` with a border of its own elements, as NumPy's `pad` with that mode.

    `padding` has one entry for each dimension: `(before, after)`, or one number for both ends.
    `mode` is "reflect", "edge" or "wrap". Raises UserError for negative or missing entries and for
    another mode.
    """
    type = operand_type("pad_mirrored", x)
    border = border_of("pad_mirrored", padding, type)
    op = PadMirrored(border, check_choice("pad_mirrored", "mode", mode, MODES))
    return apply(op, x, name=name, device=device)
