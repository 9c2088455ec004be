# SPDX-License-Identifier: Apache-2.0
"""gather: slices of x along one dimension, chosen by an array of indices."""

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
from xtc.ops.gathering import emit_gather, from_end, from_end_reference, require_indices


@dataclass(frozen=True)
class Gather(Operator):
    """`x[..., indices, ...]`: the dimensions of the indices replace dimension `axis` of x.

    Negative indices count from the end; out-of-range indices are clamped.
    """

    name: ClassVar[str] = "gather"
    axis: int = 0

    def infer(self, *inputs: TensorType) -> TensorType:
        x, indices = check_operands(self.name, inputs, 2)
        require_indices(self.name, indices)
        axis = check_axis(self.name, "axis", self.axis, x.rank)
        return x.with_shape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))

    def reference(self, *arrays: Array) -> Array:
        x, indices = arrays
        return np.take(x, from_end_reference(indices, x.shape[self.axis]), axis=self.axis)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(self.infer(*inputs).rank)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x, indices = inputs
        axis = check_axis(self.name, "axis", self.axis, x.type.rank)
        last = axis + indices.type.rank

        def position(body: ScalarBuilder, index: Scalar) -> list[Scalar]:
            before = [body.index(d) for d in range(axis)]
            chosen = from_end(body, index, x.type.sizes[axis])
            return [*before, chosen, *(body.index(d) for d in range(last, result.rank))]

        return emit_gather(builder, x, result, position, [(indices, DIM_NAMES[axis:last])])

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def gather(
    x: Tensor, indices: Tensor, *, axis: int = 0, name: str | None = None, device: object = None
) -> Tensor:
    """The slices of `x` along `axis` at the integers `indices`, like NumPy's `take`.

    The result has the shape of `x` with that of `indices` in place of dimension `axis`: an
    embedding is `gather(table, tokens)`. Negative indices count from the end; an index beyond
    either end gives the nearest slice, so reads stay inside `x`. Raises UserError
    if axis or types do not fit.
    """
    rank = operand_type("gather", x).rank
    op = Gather(check_axis("gather", "axis", axis, rank))
    return apply(op, x, indices, name=name, device=device)
