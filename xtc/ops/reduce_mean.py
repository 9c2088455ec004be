# SPDX-License-Identifier: Apache-2.0
"""reduce_mean: means along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import user_function
from xtc.ops.elementwise import dim_loops, emit_elementwise, require_float
from xtc.ops.reduce_sum import ReduceSum
from xtc.ops.reduction import reduction_attributes


@dataclass(frozen=True)
class ReduceMean(ReduceSum):
    """The sum along `axes` divided by the number of elements, rounded once.

    The step "sum" runs over the operand; the main operation, the division, over the result.
    """

    name: ClassVar[str] = "reduce_mean"

    def check_element(self, type: TensorType) -> None:
        require_float(self.name, type)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(self.infer(*inputs).rank)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        (x,) = inputs
        count = self.reduction_size(x.type)
        total = builder.reshape(self.emit_total(builder, x, step="sum"), result.sizes)

        def body(scalars: ScalarBuilder, sum: Scalar, _old: Scalar) -> Scalar:
            mean = scalars.div(sum, scalars.constant(count, sum.element))
            return scalars.cast(mean, result.element)

        return emit_elementwise(builder, [total], result, body)

    def reference(self, *arrays: Array) -> Array:
        total = super().reference(*arrays)
        count = math.prod(arrays[0].shape) // max(1, math.prod(total.shape))
        result: Array = total / total.dtype.type(count)
        return result

    def flops(self, *inputs: TensorType) -> int:
        return inputs[0].size + self.infer(*inputs).size


@user_function
def reduce_mean(
    x: Tensor,
    *,
    axes: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The mean of `x` along `axes`: one axis, several, or all of them for None.

    Half floats are summed and divided in float32 and rounded once. The reduced dimensions vanish,
    or have size 1 with `keepdims`. Raises UserError for integers, bool and axes that `x` does not
    have.
    """
    op = ReduceMean(*reduction_attributes("reduce_mean", x, axes, keepdims))
    return apply(op, x, name=name, device=device)
