# SPDX-License-Identifier: Apache-2.0
"""acosh: the inverse of the hyperbolic cosine."""

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
class Acosh(FloatElementwise):
    """The inverse of the hyperbolic cosine of every element."""

    name: ClassVar[str] = "acosh"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.math("acosh", x)

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        result: Array = np.arccosh(x)
        return result


def acosh(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The inverse hyperbolic cosine of each element of `x`; NaN below 1.

    Half floats are computed in float32 and rounded once. Raises UserError for integers and bool.
    """
    return apply(Acosh(), x, name=name, device=device)
