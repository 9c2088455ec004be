# SPDX-License-Identifier: Apache-2.0
"""leaky_relu: x where positive, slope * x elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_fits, check_real, user_function
from xtc.ops.elementwise import FloatElementwise, widened


@dataclass(frozen=True)
class LeakyRelu(FloatElementwise):
    """x where x > 0, else slope * x; NaN stays NaN."""

    name: ClassVar[str] = "leaky_relu"
    flops_per_element: ClassVar[int] = 2
    slope: float = 0.01

    def infer(self, *inputs: TensorType) -> TensorType:
        slope = check_real(self.name, "slope", self.slope)
        result = super().infer(*inputs)
        check_fits(self.name, "slope", slope, result.element.accumulator)
        return result

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        positive = body.compare("gt", x, body.constant(0, x.element))
        return body.select(positive, x, body.mul(x, body.constant(self.slope, x.element)))

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        return np.where(x > 0, x, x * np.asarray(self.slope, x.dtype))


@user_function
def leaky_relu(
    x: Tensor, *, slope: float = 0.01, name: str | None = None, device: object = None
) -> Tensor:
    """`x` where positive, `slope * x` elsewhere, of any shape and any float type.

    Half floats are computed in float32 and rounded once. Raises UserError for integers and bool,
    and for a slope that is not a finite number.
    """
    op = LeakyRelu(check_real("leaky_relu", "slope", slope))
    return apply(op, x, name=name, device=device)
