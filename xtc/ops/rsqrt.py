# SPDX-License-Identifier: Apache-2.0
"""rsqrt: 1 / sqrt(x)."""

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
class Rsqrt(FloatElementwise):
    """1 / sqrt(x) of every element: infinite at 0, NaN below."""

    name: ClassVar[str] = "rsqrt"
    flops_per_element: ClassVar[int] = 2

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.div(body.constant(1, x.element), body.math("sqrt", x))

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        result: Array = 1 / np.sqrt(x)
        return result


def rsqrt(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """1 / sqrt(`x`), of any float type: infinite at 0, NaN below it.

    Half floats are computed in float32 and rounded once. Raises UserError for integers and bool.
    """
    return apply(Rsqrt(), x, name=name, device=device)
