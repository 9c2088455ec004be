# SPDX-License-Identifier: Apache-2.0
"""is_nan: whether x is NaN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import FloatTest


@dataclass(frozen=True)
class IsNan(FloatTest):
    """Whether x is NaN, as a bool."""

    name: ClassVar[str] = "is_nan"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.compare("ne", x, x)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.isnan(x)
        return result


def is_nan(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """Whether each element of `x`, of any float type, is NaN, as a bool.

    Raises UserError for integers and bool.
    """
    return apply(IsNan(), x, name=name, device=device)
