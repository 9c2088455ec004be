# SPDX-License-Identifier: Apache-2.0
"""flip: dimensions in reverse order."""

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
from xtc.ops.attributes import check_axes, check_operands, operand_type, user_function
from xtc.ops.gathering import INDEX, Rearrangement


@dataclass(frozen=True)
class Flip(Rearrangement):
    """The elements along each of `axes` from the last to the first."""

    name: ClassVar[str] = "flip"
    axes: tuple[int, ...]

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        check_axes(self.name, "axes", self.axes, x.rank)
        return x

    def source(
        self, body: ScalarBuilder, x: TensorType, position: Sequence[Scalar]
    ) -> list[Scalar]:
        return [
            body.sub(body.constant(x.sizes[d] - 1, INDEX), index) if d in self.axes else index
            for d, index in enumerate(position)
        ]

    def reference(self, *arrays: Array) -> Array:
        return np.flip(arrays[0], self.axes)


@user_function
def flip(
    x: Tensor,
    *,
    axes: int | tuple[int, ...] | None = None,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """`x` with the dimensions `axes`, all of them for None, in reverse order.

    Raises UserError for axes that `x` does not have.
    """
    chosen = check_axes("flip", "axes", axes, operand_type("flip", x).rank)
    return apply(Flip(tuple(sorted(chosen))), x, name=name, device=device)
