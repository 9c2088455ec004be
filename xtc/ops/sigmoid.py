# SPDX-License-Identifier: Apache-2.0
"""sigmoid: 1 / (1 + exp(-x))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import FloatElementwise, widened


@dataclass(frozen=True)
class Sigmoid(FloatElementwise):
    """1 / (1 + exp(-x)) of every element; NaN stays NaN."""

    name: ClassVar[str] = "sigmoid"
    flops_per_element: ClassVar[int] = 4

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        unit = body.constant(1, x.element)
        return body.div(unit, body.add(unit, body.math("exp", body.neg(x))))

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        wide = widened(x)
        unit = np.ones((), wide.dtype)
        result: Array = unit / (unit + np.exp(-wide))
        return result


def sigmoid(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The logistic function 1 / (1 + exp(-x)), of any shape and any float type.

    Half floats are computed in float32 and rounded once. Raises UserError for integers and bool.
    """
    return apply(Sigmoid(), x, name=name, device=device)
