# SPDX-License-Identifier: Apache-2.0
"""gather_elements: elements of x along a dimension, each chosen by its index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_axis, check_operands, operand_type, user_function
from xtc.ops.elementwise import DIM_NAMES, dim_loops
from xtc.ops.gathering import (
    check_within,
    emit_gather,
    from_end,
    from_end_reference,
    require_indices,
)


@dataclass(frozen=True)
class GatherElements(Operator):
    """`x[i, indices[i, j, k], k]` for axis 1: each index selects along `axis` at its own position.

    Negative indices count from the end; out-of-range indices are clamped.
    """

    name: ClassVar[str] = "gather_elements"
    axis: int = 0

    def infer(self, *inputs: TensorType) -> TensorType:
        x, indices = check_operands(self.name, inputs, 2)
        require_indices(self.name, indices)
        check_axis(self.name, "axis", self.axis, x.rank)
        check_within(self.name, "indices", indices, x, self.axis)
        return x.with_shape(indices.shape)

    def reference(self, *arrays: Array) -> Array:
        x, indices = arrays
        chosen = from_end_reference(indices, x.shape[self.axis])
        part = x[
            tuple(
                slice(None) if d == self.axis else slice(size)
                for d, size in enumerate(indices.shape)
            )
        ]
        return np.take_along_axis(part, chosen, self.axis)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(inputs[0].rank)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x, indices = inputs

        def position(body: ScalarBuilder, index: Scalar) -> list[Scalar]:
            positions = [body.index(d) for d in range(result.rank)]
            positions[self.axis] = from_end(body, index, x.type.sizes[self.axis])
            return positions

        return emit_gather(builder, x, result, position, [(indices, DIM_NAMES[: result.rank])])

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def gather_elements(
    x: Tensor, indices: Tensor, *, axis: int = 0, name: str | None = None, device: object = None
) -> Tensor:
    """The elements of `x` that `indices` select along `axis`, like NumPy's `take_along_axis`.

    The result has the shape of `indices`, which has the rank of `x` and, except along `axis`, no
    larger sizes. Negative indices count from the end; an index beyond either end gives the nearest
    element, so reads stay inside `x`. Raises UserError if they do not fit.
    """
    rank = operand_type("gather_elements", x).rank
    op = GatherElements(check_axis("gather_elements", "axis", axis, rank))
    return apply(op, x, indices, name=name, device=device)
