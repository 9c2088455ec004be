# SPDX-License-Identifier: Apache-2.0
"""The contract of operators: type rule, NumPy reference, MLIR emission, loop names."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Operator(ABC):
    """One operator with its attributes, which are the fields of the (frozen) subclass.

    Attributes are plain data (numbers, strings, None, tuples of them): they are printed, saved and
    compared unchanged. A subclass lives in the file of `xtc/ops` that has its name.
    """

    name: ClassVar[str]

    @abstractmethod
    def infer(self, *inputs: TensorType) -> TensorType:
        """The result's type. Raises UserError that names the operand or attribute that does not
        fit.

        The first dimension of an operand may be symbolic; the rule must propagate or refuse it.
        """

    @abstractmethod
    def reference(self, *arrays: Array) -> Array:
        """The operator's reference in NumPy, on arrays of the operands' shapes.

        Float operands have the declared type, or all of them float64; the caller rounds the result
        to the declared type. Intermediate sums use the accumulator of the operand's type.
        """

    @abstractmethod
    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        """Append the linalg operations; `result` is the static type that `infer` returned."""

    @abstractmethod
    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        """Loops of the main operation, outermost first; () if there is nothing to schedule."""

    def flops(self, *inputs: TensorType) -> int:
        """Arithmetic operations, a multiply-add being two; by default one per result element."""
        return self.infer(*inputs).size

    def reduction_size(self, *inputs: TensorType) -> int:
        """The number of terms in the sum of one result element; scales the tolerance of checks."""
        return 1


def product(sizes: Sequence[int]) -> int:
    """The product of sizes, 1 for none."""
    return math.prod(sizes)
