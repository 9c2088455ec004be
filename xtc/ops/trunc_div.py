# SPDX-License-Identifier: Apache-2.0
"""trunc_div: a / b of integers, truncated toward zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import Elementwise, require_integer


@dataclass(frozen=True)
class TruncDiv(Elementwise):
    """trunc(a / b) of every pair of integers; 0 if b is 0, and the least integer / -1 wraps."""

    name: ClassVar[str] = "trunc_div"
    operands: ClassVar[int] = 2

    def check_element(self, type: TensorType) -> None:
        require_integer(self.name, type)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        a, b = elements
        return body.quotient(a, b)

    def reference(self, *arrays: Array) -> Array:
        a, b = arrays
        safe = np.where(b == 0, np.ones((), b.dtype), b)
        quotient = np.floor_divide(a, safe)
        inexact = (quotient * safe != a) & ((a < 0) != (safe < 0))
        result: Array = np.where(b == 0, 0, quotient + inexact).astype(a.dtype)
        return result


def trunc_div(
    a: Tensor | float, b: Tensor | float, *, name: str | None = None, device: object = None
) -> Tensor:
    """The quotient `a / b` truncated toward zero, of every pair of integers; 0 if b is 0.

    Operands have one integer type and shapes that broadcast as in NumPy; a Python number takes the
    other operand's element type. The least integer divided by -1 is itself. Raises UserError if
    they do not fit, and for floats: `div` divides those.
    """
    return apply(TruncDiv(), a, b, name=name, device=device)
