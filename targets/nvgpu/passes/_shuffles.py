# SPDX-License-Identifier: Apache-2.0
"""Values that the threads of a warp exchange."""

from __future__ import annotations

from xtc.ir.mlir import (
    Attribute,
    F32Type,
    FloatType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    Type,
    Value,
)
from xtc_targets.nvgpu.passes._kernels import SHUFFLE

_WORD = 32
_ALL_LANES = 0xFFFFFFFF
_LAST_LANE = 31


def exchanged(value: Value, distance: int, ip: InsertionPoint) -> Value:
    """The value of the lane whose number differs in the bit `distance`; all lanes come here.

    Values of any width are sent as words of 32 bits.
    """
    if isinstance(value.type, F32Type):
        return _shuffle(value, distance, ip)
    if isinstance(value.type, FloatType):
        integer = IntegerType.get_signless(value.type.width)
        bits = _cast("arith.bitcast", value, integer, ip)
        return _cast("arith.bitcast", exchanged(bits, distance, ip), value.type, ip)
    width = IntegerType(value.type).width
    if width == _WORD:
        return _shuffle(value, distance, ip)
    word = IntegerType.get_signless(_WORD)
    if width < _WORD:
        wide = _cast("arith.extui", value, word, ip)
        return _cast("arith.trunci", _shuffle(wide, distance, ip), value.type, ip)
    shift = _constant(_WORD, value.type, ip)
    low = _cast("arith.trunci", value, word, ip)
    high = _cast("arith.trunci", _binary("arith.shrui", value, shift, ip), word, ip)
    low, high = (
        _cast("arith.extui", _shuffle(half, distance, ip), value.type, ip) for half in (low, high)
    )
    return _binary("arith.ori", _binary("arith.shli", high, shift, ip), low, ip)


def _shuffle(value: Value, distance: int, ip: InsertionPoint) -> Value:
    i32 = IntegerType.get_signless(_WORD)
    numbers = [_constant(half, i32, ip) for half in (_ALL_LANES, distance, _LAST_LANE)]
    operands = [numbers[0], value, *numbers[1:]]
    kind = {"kind": Attribute.parse("#nvvm<shfl_kind bfly>")}
    return Operation.create(SHUFFLE, [value.type], operands, kind, ip=ip).results[0]


def _constant(number: int, type: Type, ip: InsertionPoint) -> Value:
    signed = number - (1 << _WORD) if number > 1 << (_WORD - 1) else number
    attributes = {"value": IntegerAttr.get(type, signed)}
    return Operation.create("arith.constant", [type], attributes=attributes, ip=ip).results[0]


def _cast(name: str, value: Value, type: Type, ip: InsertionPoint) -> Value:
    return Operation.create(name, [type], [value], ip=ip).results[0]


def _binary(name: str, a: Value, b: Value, ip: InsertionPoint) -> Value:
    return Operation.create(name, [a.type], [a, b], ip=ip).results[0]
