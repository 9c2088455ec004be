# SPDX-License-Identifier: Apache-2.0
"""logical_not: true where x is false."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import Elementwise, require_bool


@dataclass(frozen=True)
class LogicalNot(Elementwise):
    """Whether an element is false."""

    name: ClassVar[str] = "logical_not"

    def check_element(self, type: TensorType) -> None:
        require_bool(self.name, type)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.opposite(body.is_true(x))

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        result: Array = np.logical_not(x)
        return result


def logical_not(x: Tensor, *, name: str | None = None, device: object = None) -> Tensor:
    """True if the bool `x` is false, of any shape. Raises UserError for numbers."""
    return apply(LogicalNot(), x, name=name, device=device)
