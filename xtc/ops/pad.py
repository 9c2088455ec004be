# SPDX-License-Identifier: Apache-2.0
"""pad: a tensor with a border of one value around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError, shown
from xtc.core.types import ElementType, TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ops.attributes import check_operands, operand_type, user_function
from xtc.ops.border import Border, border_of, check_border


@dataclass(frozen=True)
class Pad(Operator):
    """Dimension d grows by `padding[d] = (before, after)` elements that hold `value`."""

    name: ClassVar[str] = "pad"
    padding: Border
    value: float | int | bool = 0

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        check_border(self.name, self.padding, x)
        _check_value(self.value, x.element)
        return padded_type(x, self.padding)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        ends = list(zip(x.shape, self.padding, strict=True))
        shape = [before + size + after for size, (before, after) in ends]
        padded: Array = np.full(shape, self.value, x.dtype)
        padded[tuple(slice(before, before + size) for size, (before, _) in ends)] = x
        return padded

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return ()

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        return emit_pad(builder, inputs[0], self.padding, self.value)

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def pad(
    x: Tensor,
    padding: object,
    *,
    value: float | int | bool = 0,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """`x` with a border that holds `value`, of any element type.

    `padding` has one entry for each dimension: `(before, after)`, or one number for both ends; it
    may be a number for all ends, or a mapping from dimensions, as in `{-2: 1, -1: (0, 2)}`. A
    symbolic dimension is not padded. Raises UserError for negative or missing entries and for a
    value that the element type does not hold.
    """
    type = operand_type("pad", x)
    op = Pad(border_of("pad", padding, type), _value_of(value, type.element))
    return apply(op, x, name=name, device=device)


def padded_type(type: TensorType, padding: Border) -> TensorType:
    """The type with a border around it; a dimension without border stays, symbolic or not."""
    return type.with_shape(
        tuple(
            dim if isinstance(dim, str) else before + dim + after
            for dim, (before, after) in zip(type.shape, padding, strict=True)
        )
    )


def emit_pad(builder: LinalgBuilder, x: Value, padding: Border, value: float | int | bool) -> Value:
    """`x` written into a larger tensor filled with `value`; `x` itself without a border."""
    type = padded_type(x.type, padding)
    if type == x.type:
        return x
    border = builder.fill(value, type, step="pad")
    return builder.insert_slice(x, border, [before for before, _ in padding])


def _value_of(value: object, element: ElementType) -> float | int | bool:
    """The value as the Python number that matches the element type."""
    plain = value.item() if isinstance(value, np.number | np.bool_) else value
    checked = _check_value(plain, element)
    if element.is_float:
        return float(checked)
    return bool(checked) if element.kind == "bool" else int(checked)


def _check_value(value: object, element: ElementType) -> float | int | bool:
    if not isinstance(value, bool | int | float):
        raise UserError(f"value of pad is {shown(value)}, not a number")
    if not _holds(element, value):
        raise UserError(f"value of pad is {shown(value)}, which {element} does not hold")
    return value


def _holds(element: ElementType, value: float | int | bool) -> bool:
    if element.is_float:
        return _fits_float(element, value)
    if value != value or abs(value) == float("inf") or int(value) != value:
        return False
    low, high = element.limits
    return low <= value <= high


def _fits_float(element: ElementType, value: float | int | bool) -> bool:
    """Infinities and NaN are held; a finite number must not become infinite."""
    try:
        wide = float(value)
    except OverflowError:
        return False
    with np.errstate(over="ignore"):
        rounded: float = np.asarray(wide).astype(element.numpy).item()
    return math.isinf(wide) or not math.isinf(rounded)
