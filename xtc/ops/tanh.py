# SPDX-License-Identifier: Apache-2.0
"""tanh: the hyperbolic tangent of x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import FloatElementwise


@dataclass(frozen=True)
class Tanh(FloatElementwise):
    """The hyperbolic tangent of x for every element; NaN stays NaN."""

    name: ClassVar[str] = "tanh"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.math("tanh", x)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.tanh(x)
        return result


def tanh(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The hyperbolic tangent of `x`, of any shape and any float type; NaN stays NaN.

    Raises UserError for integers and bool.
    """
    return apply(Tanh(), x, name=name, device=device)
