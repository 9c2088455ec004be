# SPDX-License-Identifier: Apache-2.0
"""abs: the absolute value of x."""

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
class Abs(Elementwise):
    """|x| of every element; the least integer is unchanged, as integers wrap."""

    name: ClassVar[str] = "abs"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        if x.element.is_float:
            return body.math("absf", x)
        return body.maximum(x, body.neg(x)) if x.element.signed else x

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.abs(x)
        return result


def abs(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The absolute value of each element of `x`, of any number type; integers wrap.

    Raises UserError for bool.
    """
    return apply(Abs(), x, name=name, device=device)
