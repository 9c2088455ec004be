# SPDX-License-Identifier: Apache-2.0
"""round: the nearest integer, ties to even."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import FloatElementwise, widened


@dataclass(frozen=True)
class Round(FloatElementwise):
    """The nearest integer, ties to even."""

    name: ClassVar[str] = "round"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.math("roundeven", x)

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        result: Array = np.rint(x)
        return result


def round(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """Each element of `x`, of any float type, rounded to the nearest integer, ties to even.

    Half floats are computed in float32 and rounded once. Raises UserError for integers and bool.
    """
    return apply(Round(), x, name=name, device=device)
