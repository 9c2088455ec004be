# SPDX-License-Identifier: Apache-2.0
"""log: the natural logarithm of x."""

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
class Log(FloatElementwise):
    """The natural logarithm of x for every element; 0 gives -infinity, a negative number NaN."""

    name: ClassVar[str] = "log"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.math("log", x)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.log(x)
        return result


def log(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The natural logarithm of `x`, of any shape and any float type; 0 gives -infinity.

    A negative number gives NaN. Raises UserError for integers and bool.
    """
    return apply(Log(), x, name=name, device=device)
