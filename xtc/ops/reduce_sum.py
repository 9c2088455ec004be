# SPDX-License-Identifier: Apache-2.0
"""reduce_sum: sums along axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import ElementType, TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.accumulation import accumulator_dtype, product_element
from xtc.ops.attributes import user_function
from xtc.ops.elementwise import require_number
from xtc.ops.reduction import Reduction, reduction_attributes


@dataclass(frozen=True)
class ReduceSum(Reduction):
    """The sum along `axes`; int8 and int16 give int32."""

    name: ClassVar[str] = "reduce_sum"

    def check_element(self, type: TensorType) -> None:
        require_number(self.name, type)

    def result_element(self, element: ElementType) -> ElementType:
        return product_element(element)

    def start(self, element: ElementType) -> float | int | bool:
        return 0

    def combine(self, body: ScalarBuilder, total: Scalar, element: Scalar) -> Scalar:
        return body.add(total, element)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        dtype = accumulator_dtype(x.dtype)
        return np.asarray(np.sum(x, axis=self.axes, dtype=dtype, keepdims=self.keepdims))

    def reduction_size(self, *inputs: TensorType) -> int:
        (x,) = inputs
        return math.prod(x.sizes[axis] for axis in self.reduced(x))


@user_function
def reduce_sum(
    x: Tensor,
    *,
    axes: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The sum of `x` along `axes`: one axis, several, or all of them for None.

    Half floats are summed in float32 and rounded once; int8 and int16 give int32; integers wrap.
    The reduced dimensions vanish, or have size 1 with `keepdims`. Raises UserError for bool and for
    axes that `x` does not have.
    """
    op = ReduceSum(*reduction_attributes("reduce_sum", x, axes, keepdims))
    return apply(op, x, name=name, device=device)
