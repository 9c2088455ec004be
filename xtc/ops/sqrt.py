# SPDX-License-Identifier: Apache-2.0
"""sqrt: the square root of x."""

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
class Sqrt(FloatElementwise):
    """The square root of x for every element; a negative number gives NaN."""

    name: ClassVar[str] = "sqrt"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.math("sqrt", x)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.sqrt(x)
        return result


def sqrt(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The square root of `x`, of any shape and any float type; a negative number gives NaN.

    Raises UserError for integers and bool.
    """
    return apply(Sqrt(), x, name=name, device=device)
