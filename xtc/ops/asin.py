# SPDX-License-Identifier: Apache-2.0
"""asin: the inverse of the sine."""

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
class Asin(FloatElementwise):
    """The inverse of the sine of every element."""

    name: ClassVar[str] = "asin"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.math("asin", x)

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        result: Array = np.arcsin(x)
        return result


def asin(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The inverse sine of each element of `x`, in radians; NaN outside of -1 ... 1.

    Half floats are computed in float32 and rounded once. Raises UserError for integers and bool.
    """
    return apply(Asin(), x, name=name, device=device)
