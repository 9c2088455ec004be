# SPDX-License-Identifier: Apache-2.0
"""scatter_nd: x with elements or slices replaced at positions given by rows of indices."""

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
from xtc.ops.attributes import check_choice, check_operands, user_function
from xtc.ops.elementwise import require_same_element
from xtc.ops.gathering import INDEX, require_indices
from xtc.ops.scattering import REDUCTIONS, emit_scatter, scattered


@dataclass(frozen=True)
class ScatterNd(Operator):
    """`x[tuple(row)] = updates[...]` for every row in the last dimension of the indices.

    With a reduction the new element is combined with the old one. Negative indices count from the
    end; an index beyond either end changes nothing.
    """

    name: ClassVar[str] = "scatter_nd"
    reduction: str = "none"

    def infer(self, *inputs: TensorType) -> TensorType:
        x, indices, updates = check_operands(self.name, inputs, 3)
        require_indices(self.name, indices)
        require_same_element(self.name, (x, updates))
        check_choice(self.name, "reduction", self.reduction, REDUCTIONS)
        if not indices.rank or indices.sizes[-1] > x.rank:
            raise UserError(
                f"the indices of scatter_nd have shape {indices.shape}, the operand {x.shape}",
                notes=["the last dimension holds positions in the operand"],
            )
        wanted = (*indices.shape[:-1], *x.shape[indices.sizes[-1] :])
        if updates.shape != wanted:
            raise UserError(f"the updates of scatter_nd have shape {updates.shape}, not {wanted}")
        return x

    def reference(self, *arrays: Array) -> Array:
        x, indices, updates = arrays
        depth, lead = indices.shape[-1], indices.ndim - 1
        walked = np.broadcast_arrays(*np.indices(updates.shape, sparse=True))[lead:]
        rest = (1,) * (updates.ndim - lead)
        rows = [
            np.broadcast_to(indices[..., d].reshape((*indices.shape[:-1], *rest)), updates.shape)
            for d in range(depth)
        ]
        return scattered(x, updates, [*rows, *walked], self.reduction)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return ()

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x, indices, updates = inputs
        lead, depth = indices.type.rank - 1, indices.type.sizes[-1]

        def target(
            body: ScalarBuilder, position: Sequence[Scalar]
        ) -> list[tuple[Scalar, int | None]]:
            rows = [[*position[:lead], body.constant(d, INDEX)] for d in range(depth)]
            read = [body.cast(body.read(indices.ssa, indices.type, row), INDEX) for row in rows]
            return [*zip(read, result.sizes, strict=False), *((d, None) for d in position[lead:])]

        return emit_scatter(builder, x, updates, target, self.reduction)

    def flops(self, *inputs: TensorType) -> int:
        return 0 if self.reduction == "none" else inputs[2].size


@user_function
def scatter_nd(
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    *,
    reduction: str = "none",
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """`x` with `updates` written at the positions in the last dimension of `indices`.

    A row of k integers is a position in the first k dimensions of `x`; `updates` has the other
    dimensions of `indices`, then those of `x`. `reduction` is "none", or "add", "mul", "max" or
    "min" with the old element. For equal positions the last update wins; out-of-range indices are
    ignored. Raises UserError if types or shapes do not fit.
    """
    op = ScatterNd(check_choice("scatter_nd", "reduction", reduction, REDUCTIONS))
    return apply(op, x, indices, updates, name=name, device=device)
