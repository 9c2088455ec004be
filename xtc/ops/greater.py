# SPDX-License-Identifier: Apache-2.0
"""greater: whether a > b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Comparison as Comparing
from xtc.ops.comparison import Comparison


@dataclass(frozen=True)
class Greater(Comparison):
    """Whether a > b, as a bool; false where either is NaN."""

    name: ClassVar[str] = "greater"
    how: ClassVar[Comparing] = "gt"

    def reference(self, *arrays: Array) -> Array:
        a, b = arrays
        result: Array = a > b
        return result


def greater(
    a: Tensor | float, b: Tensor | float, *, name: str | None = None, device: object = None
) -> Tensor:
    """Whether `a > b`, for every pair of elements, as a bool; false where either is NaN.

    Operands have one element type, any, and shapes that broadcast as in NumPy; a Python number
    takes the other operand's element type. Raises UserError if they do not fit.
    """
    return apply(Greater(), a, b, name=name, device=device)
