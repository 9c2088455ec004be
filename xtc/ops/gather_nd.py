# SPDX-License-Identifier: Apache-2.0
"""gather_nd: elements or slices of x at positions given by rows of indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_int, check_operands, user_function
from xtc.ops.elementwise import dim_loops
from xtc.ops.gathering import INDEX, emit_gather, from_end, from_end_reference, require_indices


@dataclass(frozen=True)
class GatherNd(Operator):
    """`x[tuple(row)]` for every row in the last dimension of the indices.

    The first `batch` dimensions of x and of the indices are shared. Negative indices count from the
    end; out-of-range indices are clamped.
    """

    name: ClassVar[str] = "gather_nd"
    batch: int = 0

    def infer(self, *inputs: TensorType) -> TensorType:
        x, indices = check_operands(self.name, inputs, 2)
        require_indices(self.name, indices)
        batch = check_int(self.name, "batch", self.batch, minimum=0)
        if indices.rank <= batch or x.shape[:batch] != indices.shape[:batch]:
            raise UserError(
                f"the first {batch} dimensions of gather_nd are {x.shape[:batch]} of the operand "
                f"and {indices.shape[:batch]} of the indices"
            )
        depth = indices.sizes[-1]
        if batch + depth > x.rank:
            raise UserError(
                f"rows of {depth} indices of gather_nd, but the operand has rank {x.rank}"
            )
        return x.with_shape((*indices.shape[:-1], *x.shape[batch + depth :]))

    def reference(self, *arrays: Array) -> Array:
        x, indices = arrays
        lead = indices.shape[:-1]
        grid = np.indices(lead[: self.batch], sparse=True)
        walked = [np.reshape(g, (*g.shape, *[1] * (len(lead) - self.batch))) for g in grid]
        chosen = [
            from_end_reference(indices[..., d], x.shape[self.batch + d])
            for d in range(indices.shape[-1])
        ]
        source = (*walked, *chosen)
        result: Array = x[source]
        return result

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(self.infer(*inputs).rank)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x, indices = inputs
        lead, depth = indices.type.rank - 1, indices.type.sizes[-1]

        def position(body: ScalarBuilder) -> list[Scalar]:
            positions = [body.index(d) for d in range(result.rank)]
            row = [
                body.read(indices.ssa, indices.type, [*positions[:lead], body.constant(d, INDEX)])
                for d in range(depth)
            ]
            chosen = [
                from_end(body, index, x.type.sizes[self.batch + d]) for d, index in enumerate(row)
            ]
            return [*positions[: self.batch], *chosen, *positions[lead:]]

        return emit_gather(builder, x, result, position)

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def gather_nd(
    x: Tensor, indices: Tensor, *, batch: int = 0, name: str | None = None, device: object = None
) -> Tensor:
    """The elements or slices of `x` at the positions in the last dimension of `indices`.

    A row of k integers is a position in the dimensions of `x` that follow the first `batch`, which
    both operands share. Negative indices count from the end; an index beyond either end gives the
    nearest element, so reads stay inside `x`. Raises UserError if shapes do not
    fit.
    """
    op = GatherNd(check_int("gather_nd", "batch", batch, minimum=0))
    return apply(op, x, indices, name=name, device=device)
