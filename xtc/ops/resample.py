# SPDX-License-Identifier: Apache-2.0
"""resample: weighted sums of neighbors along one dimension, as resizing an image needs them."""

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
from xtc.ops.accumulation import round_result
from xtc.ops.attributes import check_axis, check_operands, operand_type, user_function
from xtc.ops.elementwise import DIM_NAMES, dim_loops, require_float, require_same_element, widened
from xtc.ops.gathering import from_end, from_end_reference, require_indices


@dataclass(frozen=True)
class Resample(Operator):
    """`sum_t weights[t, i] * x[..., indices[t, i], ...]` for every i along `axis`.

    Float16 and bfloat16 are summed in float32 and rounded once.
    """

    name: ClassVar[str] = "resample"
    axis: int = 0

    def infer(self, *inputs: TensorType) -> TensorType:
        x, indices, weights = check_operands(self.name, inputs, 3)
        require_float(self.name, x)
        require_indices(self.name, indices)
        require_same_element(self.name, (x, weights))
        axis = check_axis(self.name, "axis", self.axis, x.rank)
        if indices.rank != 2 or indices.shape != weights.shape:
            raise UserError(
                f"the indices of resample have shape {indices.shape}, the weights {weights.shape}",
                notes=["both are (taps, size of the result)"],
            )
        if x.rank >= len(DIM_NAMES):
            raise UserError(f"the operand of resample has rank {x.rank}, more than 7")
        return x.with_shape((*x.shape[:axis], indices.shape[1], *x.shape[axis + 1 :]))

    def reference(self, *arrays: Array) -> Array:
        x, weights = widened(arrays[0]), widened(arrays[2])
        chosen = from_end_reference(arrays[1], x.shape[self.axis])
        shape = [1] * x.ndim
        shape[self.axis] = chosen.shape[1]
        parts = [
            np.take(x, row, self.axis) * weight.reshape(shape)
            for row, weight in zip(chosen, weights, strict=True)
        ]
        return np.sum(parts, axis=0, dtype=x.dtype)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        rank = inputs[0].rank
        return (*dim_loops(rank), Loop(DIM_NAMES[rank], reduction=True))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x, indices, weights = inputs
        rank = result.rank
        wide = result.element.accumulator

        def body(scalars: ScalarBuilder, index: Scalar, weight: Scalar, total: Scalar) -> Scalar:
            position = [scalars.index(d) for d in range(rank)]
            position[self.axis] = from_end(scalars, index, x.type.sizes[self.axis])
            value = scalars.cast(scalars.read(x.ssa, x.type, position), wide)
            return scalars.add(total, scalars.mul(value, scalars.cast(weight, wide)))

        taps = (DIM_NAMES[rank], DIM_NAMES[self.axis])
        init = (builder.fill(0, result.with_element(wide)), DIM_NAMES[:rank])
        operands = [(indices, taps), (weights, taps)]
        value = builder.generic(operands, init, self.loops(x.type), body)
        return round_result(builder, value, result)

    def flops(self, *inputs: TensorType) -> int:
        return 2 * self.infer(*inputs).size * self.reduction_size(*inputs)

    def reduction_size(self, *inputs: TensorType) -> int:
        return int(inputs[1].sizes[0])


@user_function
def resample(
    x: Tensor,
    indices: Tensor,
    weights: Tensor,
    *,
    axis: int = 0,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """Weighted sums of the slices of `x` along `axis` that `indices` name.

    `indices`, integers, and `weights`, of the float type of `x`, are (taps, size of the result):
    linear interpolation has two taps, cubic four. Negative indices count from the end; an index
    beyond either end gives the nearest slice. Raises UserError if they do not fit.
    """
    rank = operand_type("resample", x).rank
    op = Resample(check_axis("resample", "axis", axis, rank))
    return apply(op, x, indices, weights, name=name, device=device)
