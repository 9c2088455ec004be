# SPDX-License-Identifier: Apache-2.0
"""cumprod: cumulative products along an axis."""

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
class Cumprod(Prefix):
    """The cumulative product along `axis`; integers wrap."""

    name: ClassVar[str] = "cumprod"

    @property
    def start(self) -> int:
        return 1

    def combine(self, body: ScalarBuilder, a: Scalar, b: Scalar) -> Scalar:
        return body.mul(a, b)

    def accumulated(self, x: Array) -> Array:
        return np.cumprod(x, self.axis, dtype=x.dtype)


@user_function
def cumprod(
    x: Tensor,
    *,
    axis: int = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The cumulative products of `x` along `axis`, like NumPy's `cumprod`.

    `exclusive` excludes the element itself, `reverse` starts from the end. Half floats are
    computed in float32 and rounded once; integers wrap. Raises UserError for bool and for an axis
    that `x` does not have.
    """
    rank = operand_type("cumprod", x).rank
    op = Cumprod(check_axis("cumprod", "axis", axis, rank), exclusive, reverse)
    return apply(op, x, name=name, device=device)
