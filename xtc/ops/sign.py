# SPDX-License-Identifier: Apache-2.0
"""sign: -1, 0 or 1, as x is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import Elementwise


@dataclass(frozen=True)
class Sign(Elementwise):
    """-1 below 0, 1 above, 0 for zeros; NaN stays NaN."""

    name: ClassVar[str] = "sign"
    flops_per_element: ClassVar[int] = 2

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        zero, unit = body.constant(0, x.element), body.constant(1, x.element)
        above = body.select(body.compare("gt", x, zero), unit, x)
        if not x.element.signed:
            return above
        return body.select(body.compare("lt", x, zero), body.neg(unit), above)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.sign(x)
        return result


def sign(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """-1, 0 or 1 as each element of `x` is below, equal to or above 0; NaN stays NaN.

    Of any number type. Raises UserError for bool.
    """
    return apply(Sign(), x, name=name, device=device)
