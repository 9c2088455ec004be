# SPDX-License-Identifier: Apache-2.0
"""Values of floats of at most 8 bits, which threads hold as integer codes.

A code is a sign, an exponent and a mantissa. Only float8_e5m2 has infinities; it and float8_e4m3
have NaN codes (OCP "8-bit Floating Point Specification"); the others have neither.
"""

from __future__ import annotations

import re

from xtc.ir.mlir import (
    Attribute,
    DenseElementsAttr,
    F32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    RankedTensorType,
    Type,
    Value,
    arith,
)

_NAME = re.compile(r"float(\d)_e(\d)m(\d)")
_MANTISSA = 23  # bits of a float32
_BIAS = 127
_INFINITE = 0x7F800000


def decoded(codes: Value, name: str) -> Value:
    """Convert codes, a tile or a number, to float32; `name` is their type, as "float8_e4m3"."""
    found = _NAME.fullmatch(name)
    assert found is not None, name  # noqa: S101
    bits, exponent, mantissa = map(int, found.groups())
    code = arith.extui(_like(codes, IntegerType.get_signless(32)), codes)
    size = arith.andi(code, _number(code, (1 << (bits - 1)) - 1))
    shifted = arith.shli(size, _number(code, _MANTISSA - mantissa))
    scale = 2.0 ** (_BIAS - ((1 << (exponent - 1)) - 1))
    value = arith.mulf(_as_float(shifted), _float(code, scale))
    if name == "float8_e4m3":
        is_nan = arith.cmpi(arith.CmpIPredicate.eq, size, _number(code, 0x7F))
        value = arith.select(is_nan, _float(code, float("nan")), value)
    if name == "float8_e5m2":
        is_special = arith.cmpi(arith.CmpIPredicate.uge, size, _number(code, 0x7C))
        special = _as_float(arith.ori(shifted, _number(code, _INFINITE)))
        value = arith.select(is_special, special, value)
    sign = arith.andi(code, _number(code, 1 << (bits - 1)))
    is_negative = arith.cmpi(arith.CmpIPredicate.ne, sign, _number(code, 0))
    return arith.select(is_negative, arith.negf(value), value)


def _like(value: Value, element: Type) -> Type:
    """The type of a value with other elements."""
    is_tile = isinstance(value.type, RankedTensorType)
    return RankedTensorType.get(value.type.shape, element) if is_tile else element


def _as_float(bits: Value) -> Value:
    return arith.bitcast(_like(bits, F32Type.get()), bits)


def _number(like: Value, number: int) -> Value:
    return _constant(like, IntegerAttr.get(IntegerType.get_signless(32), number))


def _float(like: Value, number: float) -> Value:
    return _constant(like, FloatAttr.get(F32Type.get(), number))


def _constant(like: Value, number: Attribute) -> Value:
    type = _like(like, number.type)
    is_tile = isinstance(type, RankedTensorType)
    return arith.constant(type, DenseElementsAttr.get_splat(type, number) if is_tile else number)
