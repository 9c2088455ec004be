# SPDX-License-Identifier: Apache-2.0
"""silu: x * sigmoid(x)."""

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
class Silu(FloatElementwise):
    """x / (1 + exp(-x)) of every element, also called swish."""

    name: ClassVar[str] = "silu"
    flops_per_element: ClassVar[int] = 4

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        unit = body.constant(1, x.element)
        return body.div(x, body.add(unit, body.math("exp", body.neg(x))))

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        result: Array = x / (1 + np.exp(-x))
        return result


def silu(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """`x` * sigmoid(`x`), of any float type; also called swish.

    Half floats are computed in float32 and rounded once. -infinity gives NaN, as the formula does.
    Raises UserError for integers and bool.
    """
    return apply(Silu(), x, name=name, device=device)
