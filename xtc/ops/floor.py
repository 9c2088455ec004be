# SPDX-License-Identifier: Apache-2.0
"""floor: the largest integer not greater than x."""

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
class Floor(FloatElementwise):
    """The largest integer not greater than x."""

    name: ClassVar[str] = "floor"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.math("floor", x)

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        result: Array = np.floor(x)
        return result


def floor(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """Each element of `x`, of any float type, rounded down to an integer.

    Half floats are computed in float32 and rounded once. Raises UserError for integers and bool.
    """
    return apply(Floor(), x, name=name, device=device)
