# SPDX-License-Identifier: Apache-2.0
"""div: a / b of floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import Elementwise


@dataclass(frozen=True)
class Div(Elementwise):
    """a / b of every pair of elements, by IEEE 754: x / 0 is an infinity, 0 / 0 NaN."""

    name: ClassVar[str] = "div"
    operands: ClassVar[int] = 2

    def check_element(self, type: TensorType) -> None:
        if not type.element.is_float:
            raise UserError(
                f"div is not defined on {type.element}",
                notes=["an integer division by zero would stop the program"],
                hints=["O.cast(x, 'float32') converts an operand"],
            )

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        a, b = elements
        return body.div(a, b)

    def reference(self, *arrays: Array) -> Array:
        a, b = arrays
        result: Array = np.divide(a, b)
        return result


def div(
    a: Tensor | float, b: Tensor | float, *, name: str | None = None, device: object = None
) -> Tensor:
    """`a / b` of every pair of elements; x / 0 is an infinity, 0 / 0 is NaN.

    Operands have one float type and shapes that broadcast as in NumPy; a Python number takes the
    other operand's element type. Raises UserError if they do not fit, and for integers, whose
    division by zero would stop the program.
    """
    return apply(Div(), a, b, name=name, device=device)
