# SPDX-License-Identifier: Apache-2.0
"""Element types of tile kernels, and pointers to them: `float16`, `~float16`, `void_p`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np

from xtc.core.errors import UserError
from xtc.tile.values.methods import call

MEMORY_BITS = 8
"""Bits of the smallest addressable unit of memory."""

Kind = Literal["float", "int", "bool"]
_LONG = re.compile(r"^(u|b|t|)(float|int)")


@dataclass(frozen=True)
class DataType:
    """The type of an element in registers or memory.

    `mlir` is MLIR's type; `signed` states how an integer's bits are read. A type may be called: on
    a number it gives a constant of the type, on a run-time value a cast.

    Attributes:
        bits: of an element in memory, where elements of fewer than 8 bits are packed, the first in
            the lowest bits. A thread holds such an integer in 8 bits, and any float of at most
            8 bits as its code.
        exponent_bits: of a float of at most 8 bits; 0 for other types.
    """

    name: str
    mlir: str
    bits: int
    kind: Kind
    signed: bool = True
    exponent_bits: int = 0

    def __invert__(self) -> PointerType:
        return PointerType(self)

    def __call__(self, value: Any) -> Any:
        return call("cast", value, self)

    def __repr__(self) -> str:
        return self.name

    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "float"

    @property
    def is_coded(self) -> bool:
        """Whether it is a float of at most 8 bits, which a thread holds as its code."""
        return self.exponent_bits > 0

    @property
    def is_packed(self) -> bool:
        """Whether several elements share a byte of memory."""
        return self.bits < MEMORY_BITS and self.kind != "bool"

    @property
    def mantissa_bits(self) -> int:
        """Bits of the mantissa of a float of at most 8 bits."""
        return self.bits - 1 - self.exponent_bits

    @property
    def exponent_nbits(self) -> int:
        """Bits of the exponent of a float."""
        return self.exponent_bits or int(ml_dtypes.finfo(self.numpy).nexp)

    @property
    def mantissa_nbits(self) -> int:
        """Bits of the mantissa of a float in memory."""
        return self.bits - 1 - self.exponent_nbits

    def signedness(self) -> bool:
        """Whether an integer has a sign, the same as `signed`."""
        return self.signed

    @property
    def argument(self) -> DataType:
        """The parameter type for a number of this type; it has at least 32 bits."""
        if self.bits >= int32.bits:
            return self
        return float32 if self.is_float() else int32 if self.signed else uint32

    @property
    def bias(self) -> int:
        """The exponent bias of a float of at most 8 bits."""
        return int((1 << (self.exponent_bits - 1)) - 1)

    @property
    def nbits(self) -> int:
        """Bits of an element in memory."""
        return MEMORY_BITS if self.kind == "bool" else self.bits

    @property
    def nbytes(self) -> int:
        """Bytes of an element in memory; a bool has one."""
        return max(1, self.bits // 8)

    def is_any_float16(self) -> bool:
        """Whether it is float16 or bfloat16."""
        return self.is_float() and self.bits == 16

    def is_integer(self) -> bool:
        """Whether it is an integer type."""
        return self.kind == "int"

    def is_boolean(self) -> bool:
        """Whether it is the boolean type."""
        return self.kind == "bool"

    def is_subbyte(self) -> bool:
        """Whether several elements share a byte of memory, as `is_integer_subbyte` and
        `is_float_subbyte` say of integers and of floats."""
        return self.is_packed

    def is_integer_subbyte(self) -> bool:
        """The same of an integer type."""
        return self.is_packed and self.is_integer()

    def is_float_subbyte(self) -> bool:
        """The same of a floating-point type."""
        return self.is_packed and self.is_float()

    @property
    def short_name(self) -> str:
        """A short name such as `f16`, `i32`, `u4` or `f8e4m3`."""
        plain = self.name.removesuffix("b").replace("_", "").replace("boolean", "bool")
        return _LONG.sub(lambda found: found[1] + found[2][0], plain, count=1).replace("ui", "u")

    @property
    def zero(self) -> float | int | bool:
        """The number 0 of this type."""
        return self._number(0)

    @property
    def one(self) -> float | int | bool:
        """The number 1 of this type."""
        return self._number(1)

    def _number(self, value: int) -> float | int | bool:
        return float(value) if self.is_float() else bool(value) if self.is_boolean() else value

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of the same layout; uint8 for packed types."""
        if self.is_packed:
            return np.dtype(np.uint8)
        if self.name in _EXTENSIONS:
            return np.dtype(_EXTENSIONS[self.name])  # type: ignore[no-any-return]
        return np.dtype("bool" if self.kind == "bool" else _STORED.get(self.name, self.name))

    @property
    def least(self) -> float | int:
        """The smallest value."""
        if self.is_coded:
            return -self.greatest
        if self.is_float():
            return float("-inf")
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def greatest(self) -> float | int:
        """The largest value; for a float of at most 8 bits the largest finite one."""
        if self.is_coded:
            code = (1 << (self.bits - 1)) - 1 - _NO_NUMBERS.get(self.name, 0)
            exponent, mantissa = divmod(code, 1 << self.mantissa_bits)
            return (1 + mantissa / (1 << self.mantissa_bits)) * 2.0 ** (exponent - self.bias)
        if self.is_float():
            return float("inf")
        return (1 << (self.bits - self.signed)) - 1

    @property
    def min_value(self) -> float | int:
        """The smallest finite value."""
        return -self.max_value if self.is_float() else self.least

    @property
    def max_value(self) -> float | int:
        """The largest finite value."""
        if self.is_float() and not self.is_coded:
            return float(ml_dtypes.finfo(self.numpy).max)
        return self.greatest


@dataclass(frozen=True)
class PointerType:
    """A pointer to global memory; `element` is None for `void_p`."""

    element: DataType | None

    def __call__(self, value: Any) -> Any:
        raise UserError(
            f"{value!r} cannot be converted to a pointer",
            hints=["annotate the parameter: x_ptr: ~float32"],
        )

    def __repr__(self) -> str:
        return "void_p" if self.element is None else f"~{self.element}"


_EXTENSIONS = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}
_STORED = {"tfloat32": "float32"}
_NO_NUMBERS = {"float8_e4m3": 1, "float8_e5m2": 4}
"""The last codes of types, which are infinities or NaNs."""


def _integer(bits: int, signed: bool) -> DataType:
    return DataType(f"{'int' if signed else 'uint'}{bits}b", "i8", bits, "int", signed)


def _small_float(bits: int, exponent_bits: int) -> DataType:
    name = f"float{bits}_e{exponent_bits}m{bits - 1 - exponent_bits}"
    return DataType(name, "i8", bits, "float", exponent_bits=exponent_bits)


float16 = DataType("float16", "f16", 16, "float")
bfloat16 = DataType("bfloat16", "bf16", 16, "float")
float32 = DataType("float32", "f32", 32, "float")
float64 = DataType("float64", "f64", 64, "float")
int8 = DataType("int8", "i8", 8, "int")
int16 = DataType("int16", "i16", 16, "int")
int32 = DataType("int32", "i32", 32, "int")
int64 = DataType("int64", "i64", 64, "int")
uint8 = DataType("uint8", "i8", 8, "int", signed=False)
uint16 = DataType("uint16", "i16", 16, "int", signed=False)
uint32 = DataType("uint32", "i32", 32, "int", signed=False)
uint64 = DataType("uint64", "i64", 64, "int", signed=False)
boolean = DataType("boolean", "i1", 1, "bool", signed=False)
f16, bf16, f32, f64 = float16, bfloat16, float32, float64
i8, i16, i32, i64 = int8, int16, int32, int64
u8, u16, u32, u64 = uint8, uint16, uint32, uint64
void_p = PointerType(None)

tfloat32 = tf32 = DataType("tfloat32", "f32", 32, "float")
float8_e4m3 = f8e4m3 = _small_float(8, 4)
float8_e5m2 = f8e5m2 = _small_float(8, 5)

_SMALL = {
    dtype.name: dtype
    for dtype in (
        *(_integer(bits, signed) for bits in range(1, 8) for signed in (True, False)),
        *(_small_float(7, exponent) for exponent in (5, 4, 3, 2)),
        *(_small_float(6, exponent) for exponent in (4, 3, 2)),
        *(_small_float(5, exponent) for exponent in (3, 2)),
        *(_small_float(4, 2), _small_float(3, 1)),
    )
}
_SHORT = {
    **{f"i{bits}": f"int{bits}b" for bits in range(1, 8)},
    **{f"u{bits}": f"uint{bits}b" for bits in range(1, 8)},
    **{f"int{bits}": f"int{bits}b" for bits in range(1, 8)},
    **{f"uint{bits}": f"uint{bits}b" for bits in range(1, 8)},
    **{f"f{name[5]}{name[7:]}": name for name in _SMALL if name.startswith("float")},
}


def small_type(name: str) -> DataType | None:
    """The type of fewer than 8 bits with this name, such as `int4b`, `uint3b`, `float6_e3m2`."""
    return _SMALL.get(_SHORT.get(name, name))


TYPES = (
    *(float16, bfloat16, float32, float64, tfloat32, float8_e4m3, float8_e5m2),
    *(int8, int16, int32, int64, uint8, uint16, uint32, uint64, boolean),
    *_SMALL.values(),
)


def require_type(given: Any) -> DataType:
    """An element type. Raises UserError for anything else."""
    if isinstance(given, DataType):
        return given
    name = given.__name__ if isinstance(given, type) else str(given).removeprefix("torch.")
    is_known = any(each.name == name for each in TYPES)
    raise UserError(
        f"{given!r} is not an element type",
        hints=[f"tile.{name}" if is_known else "tile.float16, ..."],
    )


def type_named(name: str, module: str) -> DataType:
    """The type of this name, as an attribute of a module. Raises AttributeError."""
    found = globals().get(name, small_type(name))
    if not isinstance(found, DataType):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return found
