# SPDX-License-Identifier: Apache-2.0
"""argmax: the position of the largest element along an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import ElementType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_axis, operand_type, user_function
from xtc.ops.selection import Selection


@dataclass(frozen=True)
class Argmax(Selection):
    """The position of the largest element along `axis`."""

    name: ClassVar[str] = "argmax"

    def combine(self, body: ScalarBuilder, total: Scalar, element: Scalar) -> Scalar:
        return body.maximum(total, element)

    def start(self, element: ElementType) -> float | int | bool:
        return -math.inf if element.is_float else element.limits[0]

    def positions(self, x: Array) -> Array:
        return np.asarray(np.argmax(x, self.axis))


@user_function
def argmax(
    x: Tensor,
    *,
    axis: int = 0,
    keepdims: bool = False,
    last: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The int64 position along `axis` of the largest element of `x`, of any element type.

    Of equal elements the first, or the `last`; a NaN counts as largest. The axis vanishes, or has
    size 1 with `keepdims`. Raises UserError for an axis that `x` does not have.
    """
    rank = operand_type("argmax", x).rank
    op = Argmax(check_axis("argmax", "axis", axis, rank), keepdims, last)
    return apply(op, x, name=name, device=device)
