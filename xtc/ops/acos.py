# SPDX-License-Identifier: Apache-2.0
"""acos: the inverse of the cosine."""

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
class Acos(FloatElementwise):
    """The inverse of the cosine of every element."""

    name: ClassVar[str] = "acos"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.math("acos", x)

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        result: Array = np.arccos(x)
        return result


def acos(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The inverse cosine of each element of `x`, in radians; NaN outside of -1 ... 1.

    Half floats are computed in float32 and rounded once. Raises UserError for integers and bool.
    """
    return apply(Acos(), x, name=name, device=device)
