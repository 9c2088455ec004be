# SPDX-License-Identifier: Apache-2.0
"""remainder: the remainder of a / b rounded down, with b's sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import Elementwise, widened


@dataclass(frozen=True)
class Remainder(Elementwise):
    """a - b * floor(a / b), with b's sign; for integers 0 if b is 0."""

    name: ClassVar[str] = "remainder"
    operands: ClassVar[int] = 2
    flops_per_element: ClassVar[int] = 3

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        a, b = elements
        rest = body.remainder(a, b)
        if not a.element.signed:
            return rest
        zero = body.constant(0, a.element)
        other = body.bits("xor", body.compare("lt", rest, zero), body.compare("lt", b, zero))
        wrong = body.bits("and", body.compare("ne", rest, zero), other)
        return body.select(wrong, body.add(rest, b), rest)

    def reference(self, *arrays: Array) -> Array:
        wide = [widened(array) for array in arrays]
        result: Array = np.remainder(*wide)
        return result


def remainder(
    a: Tensor | float, b: Tensor | float, *, name: str | None = None, device: object = None
) -> Tensor:
    """The remainder of `a / b` rounded down, with b's sign, like % in Python and NumPy.

    For integers 0 if b is 0. Operands have one number type and shapes that broadcast as in
    NumPy. Half floats are computed in float32 and rounded once. Raises UserError if they do not
    fit.
    """
    return apply(Remainder(), a, b, name=name, device=device)
