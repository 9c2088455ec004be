# SPDX-License-Identifier: Apache-2.0
"""is_inf: whether x is infinite."""

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
class IsInf(FloatTest):
    """Whether x is an infinity of either sign, as a bool."""

    name: ClassVar[str] = "is_inf"
    flops_per_element: ClassVar[int] = 2

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.compare("eq", body.math("absf", x), body.constant(float("inf"), x.element))

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.isinf(x)
        return result


def is_inf(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """Whether each element of `x`, of any float type, is an infinity of either sign, as a bool.

    Raises UserError for integers and bool.
    """
    return apply(IsInf(), x, name=name, device=device)
