# SPDX-License-Identifier: Apache-2.0
"""Element types of tile kernels, and pointers to them: `float16`, `~float16`, `void_p`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np

from xtc.core.errors import UserError
from xtc.tile.methods import call

Kind = Literal["float", "int", "bool"]


@dataclass(frozen=True)
class DataType:
    """The type of an element in registers or memory.

    `mlir` is MLIR's type; `signed` says how an integer's bits are read. A type may be called: on a
    number it gives a constant of the type, on a run-time value a cast.
    """

    name: str
    mlir: str
    bits: int
    kind: Kind
    signed: bool = True

    def __invert__(self) -> PointerType:
        return PointerType(self)

    def __call__(self, value: Any) -> Any:
        return call("cast", value, self)

    def __repr__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "float"

    @property
    def nbytes(self) -> int:
        """Bytes of an element in memory; a bool has one."""
        return max(1, self.bits // 8)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of the same layout."""
        if self.name == "bfloat16":
            return np.dtype(ml_dtypes.bfloat16)  # type: ignore[no-any-return]
        return np.dtype("bool" if self.kind == "bool" else self.name)

    @property
    def least(self) -> float | int:
        """The smallest value."""
        if self.is_float:
            return float("-inf")
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def greatest(self) -> float | int:
        """The largest value."""
        if self.is_float:
            return float("inf")
        return (1 << (self.bits - self.signed)) - 1


@dataclass(frozen=True)
class PointerType:
    """A pointer to global memory; `element` is None for `void_p`."""

    element: DataType | None

    def __call__(self, value: Any) -> Any:
        raise UserError(f"{value!r} cannot be made a pointer")

    def __repr__(self) -> str:
        return "void_p" if self.element is None else f"~{self.element}"


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

TYPES = (
    *(float16, bfloat16, float32, float64),
    *(int8, int16, int32, int64, uint8, uint16, uint32, uint64, boolean),
)

_ABSENT = ("tfloat32", "float8_e4m3", "float8_e5m2", "tf32", "f8e4m3", "f8e5m2")


def is_absent(name: str) -> bool:
    """Whether a name is that of a type of Tilus which kernels cannot use yet."""
    kind = name.rstrip("0123456789")
    small = kind in ("int", "uint", "i", "u") and name[len(kind) :] in map(str, range(1, 8))
    floats = name.startswith("float") and "_e" in name
    return name in _ABSENT or small or floats
