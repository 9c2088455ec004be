# SPDX-License-Identifier: Apache-2.0
"""reduce_min: the smallest element along axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import ElementType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import user_function
from xtc.ops.elementwise import widened
from xtc.ops.reduction import Reduction, reduction_attributes


@dataclass(frozen=True)
class ReduceMin(Reduction):
    """The smallest element along `axes`; NaN if any is NaN; for bool whether all are true."""

    name: ClassVar[str] = "reduce_min"

    def start(self, element: ElementType) -> float | int | bool:
        if element.is_float:
            return math.inf
        return element.limits[1]

    def combine(self, body: ScalarBuilder, total: Scalar, element: Scalar) -> Scalar:
        return body.minimum(total, element)

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        return np.asarray(np.min(x, axis=self.axes, keepdims=self.keepdims))


@user_function
def reduce_min(
    x: Tensor,
    *,
    axes: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The smallest element of `x` along `axes`: one axis, several, or all of them for None.

    NaN if any element is NaN; for bool whether all are true. The reduced dimensions vanish, or
    have size 1 with `keepdims`. Raises UserError for axes that `x` does not have.
    """
    op = ReduceMin(*reduction_attributes("reduce_min", x, axes, keepdims))
    return apply(op, x, name=name, device=device)
