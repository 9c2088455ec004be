# SPDX-License-Identifier: Apache-2.0
"""reduce_prod: products along axes."""

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
from xtc.ops.attributes import user_function
from xtc.ops.elementwise import require_number, widened
from xtc.ops.reduction import Reduction, reduction_attributes


@dataclass(frozen=True)
class ReduceProd(Reduction):
    """The product of the elements along `axes`; integers wrap."""

    name: ClassVar[str] = "reduce_prod"

    def check_element(self, type: TensorType) -> None:
        require_number(self.name, type)

    def start(self, element: ElementType) -> float | int | bool:
        return 1

    def combine(self, body: ScalarBuilder, total: Scalar, element: Scalar) -> Scalar:
        return body.mul(total, element)

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        return np.asarray(np.prod(x, axis=self.axes, dtype=x.dtype, keepdims=self.keepdims))

    def reduction_size(self, *inputs: TensorType) -> int:
        (x,) = inputs
        return math.prod(x.sizes[axis] for axis in self.reduced(x))


@user_function
def reduce_prod(
    x: Tensor,
    *,
    axes: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The product of `x` along `axes`: one axis, several, or all of them for None.

    Half floats are multiplied in float32 and rounded once; integers wrap. The reduced dimensions
    vanish, or have size 1 with `keepdims`. Raises UserError for bool and for axes that `x` does not
    have.
    """
    op = ReduceProd(*reduction_attributes("reduce_prod", x, axes, keepdims))
    return apply(op, x, name=name, device=device)
