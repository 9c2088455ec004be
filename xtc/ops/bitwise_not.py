# SPDX-License-Identifier: Apache-2.0
"""bitwise_not: ~x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import Elementwise, require_integer


@dataclass(frozen=True)
class BitwiseNot(Elementwise):
    """~x of every integer."""

    name: ClassVar[str] = "bitwise_not"

    def check_element(self, type: TensorType) -> None:
        require_integer(self.name, type)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        ones = body.constant(-1 if x.element.signed else x.element.limits[1], x.element)
        return body.bits("xor", x, ones)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.invert(x)
        return result


def bitwise_not(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """The bitwise complement of the integers `x`. Raises UserError for floats and bool."""
    return apply(BitwiseNot(), x, name=name, device=device)
