# SPDX-License-Identifier: Apache-2.0
"""Floats of at most 8 bits, which a thread holds as codes: to float32 and back.

Casts to such a type round to nearest even, and saturate to the largest finite number, like
`cvt.rn.satfinite` of the PTX ISA.
"""

from __future__ import annotations

from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import float_codes
from xtc.ir.mlir import RankedTensorType, Type, Value, arith
from xtc.tile.types import DataType, float32, int32
from xtc.tile.values.methods import call
from xtc.tile.values.runtime import Data, RegisterTensor, Scalar

_MANTISSA = 23  # bits of a float32
_BIAS = 127


def decoded(a: Data) -> Data:
    """Convert codes of small floats to float32."""
    return _made(float_codes.decoded(a.value, a.dtype.name), float32, a)


def encoded(a: Data, dtype: DataType) -> Data:
    """Convert float32 values to codes of a small float."""
    size = call("binary", "min", call("unary", "abs", a), float(dtype.greatest))
    code = call(
        "select",
        call("binary", "lt", size, 2.0 ** (1 - dtype.bias)),
        _small_code(size, dtype),
        _code(size, dtype),
    )
    if dtype.name in ("float8_e4m3", "float8_e5m2"):
        code = call("select", call("binary", "ne", a, a), 0x7F, code)
    negative = call("binary", "rshift", _float_as_bits(a), 31 - (dtype.bits - 1))
    sign = call("binary", "and", negative, 1 << (dtype.bits - 1))
    return _retyped(call("binary", "or", code, sign), dtype, arith.trunci)


def _small_code(size: Data, dtype: DataType) -> Any:
    """The code of a subnormal number: a multiple of the smallest number."""
    count = call("binary", "mul", size, 2.0 ** (dtype.mantissa_bits + dtype.bias - 1))
    return call("cast", call("unary", "round", count), int32)


def _code(size: Data, dtype: DataType) -> Any:
    """The code of a normal number: the upper bits of a float32, rounded to even."""
    shift = _MANTISSA - dtype.mantissa_bits
    bits = _float_as_bits(size)
    last = call("binary", "and", call("binary", "rshift", bits, shift), 1)
    rounded = call("binary", "add", call("binary", "add", bits, (1 << (shift - 1)) - 1), last)
    upper = call("binary", "rshift", rounded, shift)
    return call("binary", "sub", upper, (_BIAS - dtype.bias) << dtype.mantissa_bits)


def refuse_codes(dtype: DataType, name: str) -> None:
    """Raise UserError for arithmetic on codes."""
    if dtype.is_coded:
        raise UserError(
            f"{name} does not take values of type {dtype}",
            hints=["cast to float16 or float32 first"],
        )


def _float_as_bits(a: Data) -> Data:
    return _made(arith.bitcast(_type(int32, a), a.value), int32, a)


def _retyped(a: Data, dtype: DataType, make: Any) -> Data:
    return _made(make(_type(dtype, a), a.value), dtype, a)


def _type(dtype: DataType, like: Data) -> Type:
    element = Type.parse(dtype.mlir)
    return RankedTensorType.get(list(like.shape), element) if like.shape else element


def _made(value: Value, dtype: DataType, like: Data) -> Data:
    return RegisterTensor(value, dtype, like.shape) if like.shape else Scalar(value, dtype)
