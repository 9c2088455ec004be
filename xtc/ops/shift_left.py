# SPDX-License-Identifier: Apache-2.0
"""shift_left: a << b."""

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
class ShiftLeft(Elementwise):
    """a << b; 0 if b is out of range."""

    name: ClassVar[str] = "shift_left"
    operands: ClassVar[int] = 2

    def check_element(self, type: TensorType) -> None:
        require_integer(self.name, type)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        a, b = elements
        return body.shift("left", a, b)

    def reference(self, *arrays: Array) -> Array:
        a, b = arrays
        bits = a.dtype.itemsize * 8
        inside = (b >= 0) & (b < bits)
        moved = a << np.where(inside, b, 0).astype(a.dtype)
        return np.where(inside, moved, np.zeros((), a.dtype)).astype(a.dtype)


def shift_left(
    a: Tensor | float, b: Tensor | float, *, name: str | None = None, device: object = None
) -> Tensor:
    """The integers `a` shifted left by `b` bits.

    If `b` is negative or not less than the number of bits, the result is 0. Operands have
    one element type and shapes that broadcast as in NumPy. Raises UserError if they do not fit.
    """
    return apply(ShiftLeft(), a, b, name=name, device=device)
