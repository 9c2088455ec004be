# SPDX-License-Identifier: Apache-2.0
"""The C types of MLIR types, and their literals.

Not every compiler has a C type for `bf16`: it is stored as 16 bits and computed as float.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xtc.codegen.c.expression import UNARY, Expression
from xtc.ir.mlir import Attribute, Type, VectorType

_SCALARS = {
    "f32": "float",
    "f64": "double",
    "f16": "_Float16",
    "bf16": "bf16",
    "i1": "bool",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "index": "ptrdiff_t",
}
_BITS = {"f32": 32, "f64": 64, "f16": 16, "bf16": 16, "i1": 1, "i8": 8, "i16": 16, "i32": 32}
FLOATS = ("f16", "bf16", "f32", "f64")


@dataclass(frozen=True)
class CType:
    """A scalar, or a vector with `lanes` elements.

    Attributes:
        element: the element type in MLIR, "f32".
        lanes: 0 for a scalar.
    """

    element: str
    lanes: int = 0

    @staticmethod
    def of(type: Type) -> CType | None:
        """The C type of an MLIR type, or None."""
        if isinstance(type, VectorType):
            scalar = CType.of(type.element_type)
            lanes = type.shape[0] if type.rank == 1 else 0
            good = scalar is not None and not lanes & (lanes - 1) and not any(type.scalable_dims)
            return CType(scalar.element, lanes) if scalar and good and lanes else None
        text = str(type)
        return CType(text) if text in _SCALARS else None

    @property
    def name(self) -> str:
        """The name of the type in C: `float`, `f32x8`."""
        return f"{self.element}x{self.lanes}" if self.lanes else _SCALARS[self.element]

    @property
    def short(self) -> str:
        """The suffix in the names of helpers: `f32`, `f32x8`."""
        return f"{self.element}x{self.lanes}" if self.lanes else self.element

    @property
    def scalar(self) -> CType:
        """The type of one lane."""
        return CType(self.element)

    @property
    def bits(self) -> int:
        """The width of an element in bits."""
        return _BITS.get(self.element, 64)

    @property
    def nbytes(self) -> int:
        """The size of an element in memory, in bytes."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        """Whether its elements are floating-point numbers."""
        return self.element in FLOATS

    @property
    def is_half(self) -> bool:
        """Whether it is computed as float and rounded to 16 bits."""
        return self.element in ("f16", "bf16")

    def with_element(self, element: str) -> CType:
        """The type with the same number of lanes and another element."""
        return CType(element, self.lanes)

    @property
    def mask(self) -> CType:
        """The type of a comparison of such vectors: integers of the same width."""
        return self.with_element(f"i{self.bits}")


def literal(value: float | int, type: CType) -> Expression:
    """An exact literal; the compiler chooses the sign and payload of NaN."""
    if not type.is_float:
        return _integer(int(value), type)
    number = float(value)
    if type.element == "bf16":
        bits = np.float32(number).view(np.uint32) >> 16
        return Expression(f"0x{bits:04x} /* {number:g} */")
    text = _float(number, type.element)
    if type.element == "f16":
        return Expression(f"(_Float16){text}", UNARY)
    return Expression(text)


def _integer(value: int, type: CType) -> Expression:
    if type.element == "i1":
        return Expression("true" if value else "false")
    if type.bits in (32, 64) and value == -(1 << type.bits - 1):
        return Expression(f"INT{type.bits}_MIN")
    return Expression(str(value))


def _float(number: float, element: str) -> str:
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    if element == "f64":
        return repr(number)
    text = str(np.float32(number))
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def number_literal(attribute: Attribute, type: CType) -> Expression:
    """The literal of an integer or float attribute."""
    return literal(attribute.value, type)


def array_suffix(shape: Sequence[int]) -> str:
    """`[4][8]`."""
    return "".join(f"[{size}]" for size in shape)
