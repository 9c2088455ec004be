# SPDX-License-Identifier: Apache-2.0
"""where: elements of a or b, selected by a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_operands, user_function
from xtc.ops.elementwise import (
    Elementwise,
    broadcast_shape,
    emit_elementwise,
    require_same_element,
)


@dataclass(frozen=True)
class Where(Elementwise):
    """The element of `a` where the condition holds, else that of `b`; all three broadcast."""

    name: ClassVar[str] = "where"
    flops_per_element: ClassVar[int] = 0

    def infer(self, *inputs: TensorType) -> TensorType:
        condition, a, b = check_operands(self.name, inputs, 3)
        if condition.element.kind != "bool":
            raise UserError(
                f"the condition of where is {condition.element}, not bool",
                hints=["O.cast(x, 'bool') is x != 0"],
            )
        require_same_element(self.name, (a, b))
        return TensorType(broadcast_shape(self.name, inputs), a.element)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        condition, a, b = elements
        return body.select(body.is_true(condition), a, b)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(scalars: ScalarBuilder, *elements: Scalar) -> Scalar:
            return self.scalar(scalars, *elements[:-1])

        return emit_elementwise(builder, inputs, result, body)

    def reference(self, *arrays: Array) -> Array:
        condition, a, b = arrays
        return np.where(condition, a, b)


@user_function
def where(
    condition: Tensor,
    a: Tensor | float,
    b: Tensor | float,
    *,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """`a` where the bool `condition` holds, else `b`; all three broadcast as in NumPy.

    `a` and `b` have one element type, any; one of them may be a Python number, which takes the
    other one's. Raises UserError if they do not fit.
    """
    like = next((value for value in (a, b) if isinstance(value, Tensor)), None)
    if like is None:
        raise UserError(
            "neither a nor b of where is a tensor, so the element type is unknown",
            hints=["make a constant: O.tensor((), 'float32', const=np.float32(1))"],
        )
    return apply(Where(), condition, a, b, like=like, name=name, device=device)
