# SPDX-License-Identifier: Apache-2.0
"""exp: e to the power of x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import FloatElementwise


@dataclass(frozen=True)
class Exp(FloatElementwise):
    """e to the power of x for every element; overflow gives infinity, NaN stays NaN."""

    name: ClassVar[str] = "exp"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.math("exp", x)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.exp(x)
        return result


def exp(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """e to the power of `x`, of any shape and any float type; overflow gives infinity.

    Raises UserError for integers and bool.
    """
    return apply(Exp(), x, name=name, device=device)
