# SPDX-License-Identifier: Apache-2.0
"""pow: a to the power of b."""

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
class Pow(FloatElementwise):
    """a ** b of every pair of floats, as C's pow."""

    name: ClassVar[str] = "pow"
    operands: ClassVar[int] = 2

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        a, b = elements
        return body.power(a, b)

    def reference(self, *arrays: Array) -> Array:
        a, b = (widened(array) for array in arrays)
        result: Array = np.power(a, b)
        return result


def pow(
    a: Tensor | float, b: Tensor | float, *, name: str | None = None, device: object = None
) -> Tensor:
    """`a` to the power of `b`, for every pair of floats; NaN where a is negative and b not whole.

    Operands have one float type and shapes that broadcast as in NumPy; a Python number takes the
    other operand's element type. Half floats are computed in float32 and rounded once. Raises
    UserError if they do not fit, and for integers.
    """
    return apply(Pow(), a, b, name=name, device=device)
