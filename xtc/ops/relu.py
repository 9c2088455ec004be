# SPDX-License-Identifier: Apache-2.0
"""relu: the larger of x and a threshold, 0 unless given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.core.value_checks import whole
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_fits, check_real, user_function
from xtc.ops.elementwise import Elementwise


@dataclass(frozen=True)
class Relu(Elementwise):
    """max(x, threshold) of every element; NaN stays NaN."""

    name: ClassVar[str] = "relu"
    threshold: float | int = 0

    def infer(self, *inputs: TensorType) -> TensorType:
        result = super().infer(*inputs)
        if result.element.is_float:
            threshold = check_real(self.name, "threshold", self.threshold)
            check_fits(self.name, "threshold", threshold, result.element.accumulator)
        else:
            whole(f"threshold of {self.name}", self.threshold, *map(int, result.element.limits))
        return result

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.maximum(x, body.constant(self.threshold, x.element))

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        largest: Array = np.maximum(x, np.asarray(self.threshold, x.dtype))
        return largest


@user_function
def relu(
    x: Tensor,
    *,
    threshold: float | int = 0,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The larger of `x` and `threshold`, of any shape and any number type; NaN stays NaN.

    Raises UserError for a threshold that is not a finite number of the element type.
    """
    return apply(Relu(threshold), x, name=name, device=device)
