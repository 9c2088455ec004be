# SPDX-License-Identifier: Apache-2.0
"""tile: a tensor repeated along its dimensions."""

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
from xtc.ops.attributes import check_ints, check_operands, operand_type, user_function
from xtc.ops.gathering import INDEX, Rearrangement


@dataclass(frozen=True)
class Tile(Rearrangement):
    """x `repeats[d]` times along each dimension d."""

    name: ClassVar[str] = "tile"
    repeats: tuple[int, ...]

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        repeats = check_ints(self.name, "repeats", self.repeats, count=x.rank, minimum=1)
        return x.with_shape(
            tuple(size * count for size, count in zip(x.sizes, repeats, strict=True))
        )

    def source(
        self, body: ScalarBuilder, x: TensorType, position: Sequence[Scalar]
    ) -> list[Scalar]:
        return [
            body.remainder(index, body.constant(size, INDEX)) if count > 1 else index
            for index, size, count in zip(position, x.sizes, self.repeats, strict=True)
        ]

    def reference(self, *arrays: Array) -> Array:
        return np.tile(arrays[0], self.repeats)


@user_function
def tile(
    x: Tensor, repeats: tuple[int, ...], *, name: str | None = None, device: object = None
) -> Tensor:
    """`x` repeated `repeats[d]` times along each dimension d, as NumPy's `tile`.

    Raises UserError unless there is one number, 1 or more, for each dimension.
    """
    rank = operand_type("tile", x).rank
    counts = check_ints("tile", "repeats", repeats, count=rank, minimum=1)
    return apply(Tile(counts), x, name=name, device=device)
