# SPDX-License-Identifier: Apache-2.0
"""maximum: the larger of a and b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import Elementwise


@dataclass(frozen=True)
class Maximum(Elementwise):
    """The larger of every pair of elements; NaN if either is NaN; for bool a logical or."""

    name: ClassVar[str] = "maximum"
    operands: ClassVar[int] = 2

    def check_element(self, type: TensorType) -> None:
        """Every element type has an order."""

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        a, b = elements
        return body.maximum(a, b)

    def reference(self, *arrays: Array) -> Array:
        a, b = arrays
        result: Array = np.maximum(a, b)
        return result


def maximum(
    a: Tensor | float, b: Tensor | float, *, name: str | None = None, device: object = None
) -> Tensor:
    """The larger of every pair of elements; NaN if either is NaN; for bool a logical or.

    Operands have one element type and shapes that broadcast as in NumPy; a Python number takes the
    other operand's element type. Raises UserError if they do not fit.
    """
    return apply(Maximum(), a, b, name=name, device=device)
