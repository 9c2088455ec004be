# SPDX-License-Identifier: Apache-2.0
"""neg: the negative of x."""

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
class Neg(Elementwise):
    """-x of every element; the smallest integer stays itself, as integers wrap."""

    name: ClassVar[str] = "neg"

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.neg(x)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.negative(x)
        return result


def neg(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The negative of `x`, of any shape and any number type.

    Integers wrap, so the smallest one stays itself. Raises UserError for bool.
    """
    return apply(Neg(), x, name=name, device=device)
