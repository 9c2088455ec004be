# SPDX-License-Identifier: Apache-2.0
"""bitwise_or: a | b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import Elementwise, require_whole


@dataclass(frozen=True)
class BitwiseOr(Elementwise):
    """a | b of every pair of integers or bools."""

    name: ClassVar[str] = "bitwise_or"
    operands: ClassVar[int] = 2

    def check_element(self, type: TensorType) -> None:
        require_whole(self.name, type)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        a, b = elements
        return body.bits("or", a, b)

    def reference(self, *arrays: Array) -> Array:
        a, b = arrays
        result: Array = np.bitwise_or(a, b)
        return result


def bitwise_or(
    a: Tensor | float, b: Tensor | float, *, name: str | None = None, device: object = None
) -> Tensor:
    """The bitwise OR of every pair of integers or bools.

    Operands have one element type and shapes that broadcast as in NumPy; a Python number takes the
    other operand's element type. Raises UserError if they do not fit, and for floats.
    """
    return apply(BitwiseOr(), a, b, name=name, device=device)
