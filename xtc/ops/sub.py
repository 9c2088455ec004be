# SPDX-License-Identifier: Apache-2.0
"""sub: a - b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import Elementwise


@dataclass(frozen=True)
class Sub(Elementwise):
    """a - b of every pair of elements; integers wrap."""

    name: ClassVar[str] = "sub"
    operands: ClassVar[int] = 2

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        a, b = elements
        return body.sub(a, b)

    def reference(self, *arrays: Array) -> Array:
        a, b = arrays
        result: Array = np.subtract(a, b)
        return result


def sub(
    a: Tensor | float, b: Tensor | float, *, name: str | None = None, device: object = None
) -> Tensor:
    """`a - b` of every pair of elements; integers wrap.

    Operands have one element type, any but bool, and shapes that broadcast as in NumPy; a Python
    number takes the other operand's element type. Raises UserError if they do not fit.
    """
    return apply(Sub(), a, b, name=name, device=device)
