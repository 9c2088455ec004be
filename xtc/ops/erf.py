# SPDX-License-Identifier: Apache-2.0
"""erf: the error function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import FloatElementwise, widened
from xtc.ops.gelu import erf_reference


@dataclass(frozen=True)
class Erf(FloatElementwise):
    """The error function of every element."""

    name: ClassVar[str] = "erf"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.math("erf", x)

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        result: Array = np.asarray(erf_reference(x))
        return result


def erf(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The error function of each element of `x`, of any float type: 2 / sqrt(pi) times the integral
    of exp(-t * t) for t from 0 to x.

    Half floats are computed in float32 and rounded once. Raises UserError for integers and bool.
    """
    return apply(Erf(), x, name=name, device=device)
