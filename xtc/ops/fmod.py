# SPDX-License-Identifier: Apache-2.0
"""fmod: the remainder of a / b truncated toward zero, with a's sign."""

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
class Fmod(Elementwise):
    """a - b * trunc(a / b), with a's sign; for integers 0 if b is 0."""

    name: ClassVar[str] = "fmod"
    operands: ClassVar[int] = 2

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        a, b = elements
        return body.remainder(a, b)

    def reference(self, *arrays: Array) -> Array:
        wide = [widened(array) for array in arrays]
        result: Array = np.fmod(*wide)
        return result


def fmod(
    a: Tensor | float, b: Tensor | float, *, name: str | None = None, device: object = None
) -> Tensor:
    """The remainder of `a / b` truncated toward zero, with a's sign, like C's fmod and integer %.

    For integers 0 if b is 0. Operands have one number type and shapes that broadcast as in
    NumPy. Half floats are computed in float32 and rounded once. Raises UserError if they do not
    fit.
    """
    return apply(Fmod(), a, b, name=name, device=device)
