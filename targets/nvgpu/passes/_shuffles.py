# SPDX-License-Identifier: Apache-2.0
"""Exchanges values between the threads of a warp."""

from __future__ import annotations

from xtc.ir.builders.numbers import constant
from xtc.ir.mlir import F32Type, FloatType, InsertionPoint, IntegerType, Value, arith
from xtc.ir.mlir_nvvm import nvvm

_WORD = 32
_ALL_LANES = -1  # a bit for each lane of the warp
_LAST_LANE = 31


def exchanged(value: Value, distance: int, ip: InsertionPoint) -> Value:
    """The value of the lane whose number differs in the bit `distance`; all lanes participate.

    Values of any width are sent as 32-bit words.
    """
    if isinstance(value.type, F32Type):
        return _shuffle(value, distance, ip)
    if isinstance(value.type, FloatType):
        integer = IntegerType.get_signless(value.type.width)
        bits = arith.bitcast(integer, value, ip=ip)
        return arith.bitcast(value.type, exchanged(bits, distance, ip), ip=ip)
    width = IntegerType(value.type).width
    if width == _WORD:
        return _shuffle(value, distance, ip)
    word = IntegerType.get_signless(_WORD)
    if width < _WORD:
        wide = arith.extui(word, value, ip=ip)
        return arith.trunci(value.type, _shuffle(wide, distance, ip), ip=ip)
    shift = constant(_WORD, value.type, ip)
    low = arith.trunci(word, value, ip=ip)
    high = arith.trunci(word, arith.shrui(value, shift, ip=ip), ip=ip)
    low, high = (
        arith.extui(value.type, _shuffle(half, distance, ip), ip=ip) for half in (low, high)
    )
    return arith.ori(arith.shli(high, shift, ip=ip), low, ip=ip)


def _shuffle(value: Value, distance: int, ip: InsertionPoint) -> Value:
    i32 = IntegerType.get_signless(_WORD)
    mask, offset, last = (constant(n, i32, ip) for n in (_ALL_LANES, distance, _LAST_LANE))
    return nvvm.shfl_sync(value.type, mask, value, offset, last, nvvm.ShflKind.bfly, ip=ip)
