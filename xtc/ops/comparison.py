# SPDX-License-Identifier: Apache-2.0
"""Shared by the comparisons: a predicate on two operands, as a bool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.types import TensorType
from xtc.ir.builders.scalar import Comparison as Comparing
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import Test


@dataclass(frozen=True)
class Comparison(Test):
    """Whether `how` holds between every pair of elements of any one type."""

    operands: ClassVar[int] = 2
    how: ClassVar[Comparing]

    def check_element(self, type: TensorType) -> None:
        """Every element type has an order."""

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        a, b = elements
        return body.compare(self.how, a, b)
