# SPDX-License-Identifier: Apache-2.0
"""cumsum: cumulative sums along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_axis, operand_type, user_function
from xtc.ops.prefix import Prefix


@dataclass(frozen=True)
class Cumsum(Prefix):
    """The cumulative sum along `axis`; integers wrap."""

    name: ClassVar[str] = "cumsum"

    @property
    def start(self) -> int:
        return 0

    def combine(self, body: ScalarBuilder, a: Scalar, b: Scalar) -> Scalar:
        return body.add(a, b)

    def accumulated(self, x: Array) -> Array:
        return np.cumsum(x, self.axis, dtype=x.dtype)


@user_function
def cumsum(
    x: Tensor,
    *,
    axis: int = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The cumulative sums of `x` along `axis`, like NumPy's `cumsum`.

    `exclusive` excludes the element itself, `reverse` starts from the end. Half floats are
    computed in float32 and rounded once; integers wrap. Raises UserError for bool and for an axis
    that `x` does not have.
    """
    rank = operand_type("cumsum", x).rank
    op = Cumsum(check_axis("cumsum", "axis", axis, rank), exclusive, reverse)
    return apply(op, x, name=name, device=device)
