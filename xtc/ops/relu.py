# SPDX-License-Identifier: Apache-2.0
"""relu: the larger of x and 0."""

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
class Relu(Elementwise):
    """max(x, 0) of every element; NaN stays NaN."""

    name: ClassVar[str] = "relu"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.maximum(x, body.constant(0, x.element))

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        return np.maximum(x, np.zeros((), x.dtype))


def relu(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The larger of `x` and 0, of any shape and any number type; NaN stays NaN."""
    return apply(Relu(), x, name=name, device=device)
