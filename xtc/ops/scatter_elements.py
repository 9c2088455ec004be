# SPDX-License-Identifier: Apache-2.0
"""scatter_elements: x with elements replaced along a dimension, each at its index."""

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
from xtc.ops.attributes import check_axis, check_choice, check_operands, operand_type, user_function
from xtc.ops.elementwise import require_same_element
from xtc.ops.gathering import INDEX, check_within, require_indices
from xtc.ops.scattering import REDUCTIONS, emit_scatter, scattered


@dataclass(frozen=True)
class ScatterElements(Operator):
    """`x[i, indices[i, j, k], k] = updates[i, j, k]` for axis 1, one after the other.

    With a reduction the new element is combined with the old one. Negative indices count from the
    end; an index beyond either end changes nothing.
    """

    name: ClassVar[str] = "scatter_elements"
    axis: int = 0
    reduction: str = "none"

    def infer(self, *inputs: TensorType) -> TensorType:
        x, indices, updates = check_operands(self.name, inputs, 3)
        require_indices(self.name, indices)
        require_same_element(self.name, (x, updates))
        axis = check_axis(self.name, "axis", self.axis, x.rank)
        check_choice(self.name, "reduction", self.reduction, REDUCTIONS)
        check_within(self.name, "indices", indices, x, axis)
        if indices.shape != updates.shape:
            raise UserError(
                f"the indices of scatter_elements have shape {indices.shape}, "
                f"the updates {updates.shape}"
            )
        return x

    def reference(self, *arrays: Array) -> Array:
        x, indices, updates = arrays
        positions = list(np.broadcast_arrays(*np.indices(updates.shape, sparse=True)))
        positions[self.axis] = indices.astype(np.int64)
        return scattered(x, updates, positions, self.reduction)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return ()

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x, indices, updates = inputs

        def target(
            body: ScalarBuilder, position: Sequence[Scalar]
        ) -> list[tuple[Scalar, int | None]]:
            at: list[tuple[Scalar, int | None]] = [(index, None) for index in position]
            index = body.cast(body.read(indices.ssa, indices.type, position), INDEX)
            at[self.axis] = (index, result.sizes[self.axis])
            return at

        return emit_scatter(builder, x, updates, target, self.reduction)

    def flops(self, *inputs: TensorType) -> int:
        return 0 if self.reduction == "none" else inputs[2].size


@user_function
def scatter_elements(
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    *,
    axis: int = 0,
    reduction: str = "none",
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """`x` with `updates` written along `axis` at `indices`, like NumPy's `put_along_axis`.

    `indices` and `updates` have one shape, of the rank of `x` and, except along `axis`, no larger.
    `reduction` is "none", or "add", "mul", "max" or "min" with the old element. For equal positions
    the last update wins; out-of-range indices are ignored. Raises UserError if types or
    shapes do not fit.
    """
    rank = operand_type("scatter_elements", x).rank
    axis = check_axis("scatter_elements", "axis", axis, rank)
    op = ScatterElements(axis, check_choice("scatter_elements", "reduction", reduction, REDUCTIONS))
    return apply(op, x, indices, updates, name=name, device=device)
