# SPDX-License-Identifier: Apache-2.0
"""expand-math: exp, tanh, erf and erfc of float32 as arithmetic that runs on vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import AT_MOST_ZERO
from xtc.ir.builders.elementwise import ElementwiseWriter
from xtc.ir.mlir import (
    F32Type,
    InsertionPoint,
    Operation,
    Type,
    Value,
    VectorType,
    all_operations,
    arith,
)
from xtc.ir.passes import Pass

# Minimax polynomials: the least relative error of the function on the range in which it is used.
# (exp(r) - 1 - r) / r^2 for |r| up to log(2), by powers of r: 1.4e-8
_EXP = (0.50000036, 0.16666614, 0.041661259, 0.0083361091, 0.0014104677, 0.00019611344)
# (tanh(x) - x) / x^3 for |x| up to 0.625, by powers of x^2: 4e-9
_TANH = (-0.33333281, 0.13331442, -0.053739712, 0.020639079, -0.0057049785)
# erf(x) / x for |x| up to 1, by powers of x^2: 1e-9
_ERF = (
    1.1283791065216064,
    -0.3761262595653534,
    0.1128358542919159,
    -0.026853810995817184,
    0.005188327748328447,
    -0.0008010192541405559,
    7.853857823647559e-05,
)
# log(1 - erf(x)) for x from 1 to 4, by powers of x
_LOG_ERFC = (
    0.00018846777675207704,
    -1.1295802593231201,
    -0.633216381072998,
    -0.10842210054397583,
    0.025210341438651085,
    -0.0042052860371768475,
    0.00044147291919216514,
    -2.1697638658224605e-05,
)
# erfc(x) * exp(x^2) / t for x from 0 to 10.2 and t = 2 / (2 + x), by powers of t - 0.5: 2.1e-8
_ERFCX = (
    0.5107913613319397,
    0.6871609091758728,
    0.558942973613739,
    0.14574337005615234,
    -0.1720190942287445,
    -0.1029607355594635,
    0.09732268005609512,
    0.046510349959135056,
    -0.06749136000871658,
    0.011684506200253963,
)
_NO_TAIL = 10.125  # from here on, erfc is 0 in float32
# Added to a float, it rounds to a whole number; its last bits are the exponent of 1.
_ROUNDER = 1.5 * (1 << 23) + 127
_LOG2_HIGH = 0.693359375  # ten bits: its products with whole numbers are exact
_LOG2_LOW = math.log(2) - _LOG2_HIGH
_LARGEST, _LEAST = 89.0, -105.0  # beyond these, exp is infinite or 0
_LEAST_SHARE = -87.25  # below it, exp is less than 2^-125: negligible in a sum that contains exp(0)
_LESS, _GREATER = arith.CmpFPredicate.OLT, arith.CmpFPredicate.OGT
_SIGN = 1 << 31


@dataclass(frozen=True)
class ExpandMath(Pass):
    """Compute exp, tanh, erf and erfc of float32 by polynomials; docs/accuracy.md has their errors.

    LLVM calls the C library for each element and does not vectorize a loop with such a call.
    Overflow gives infinity, underflow 0, and NaN gives NaN. Operations marked `xtc.at_most_zero`,
    as in a softmax, need no test for overflow; subnormal results become 0. Other types still call
    the library.

    Before:
        %y = math.exp %x : f32
    After:
        %n = round(%x / log 4); %r = %x - %n * log 4
        %y = (1 + %r + %r^2 * polynomial(%r)) * 2^%n * 2^%n    // of arith operations
    """

    name: ClassVar[str] = "expand-math"

    def run(self, module: Operation) -> None:
        with module.context:
            for op in all_operations(module):
                expansion = _EXPANSIONS.get(op.name)
                if expansion and isinstance(_element(op.results[0].type), F32Type):
                    with op.location:
                        write = _FloatWriter(InsertionPoint(op), op.results[0].type)
                        op.results[0].replace_all_uses_with(expansion(write, op))
                    op.erase()


def _element(type: Type) -> Type:
    return type.element_type if isinstance(type, VectorType) else type


class _FloatWriter(ElementwiseWriter):
    """Appends operations on float32 values and on their bits."""

    def plus(self, a: Value, b: Value | float) -> Value:
        return self.op(arith.addf, a, self._value(b))

    def times(self, a: Value, b: Value | float) -> Value:
        return self.op(arith.mulf, a, self._value(b))

    def minus(self, a: Value, b: Value | float) -> Value:
        return self.op(arith.subf, a, self._value(b))

    def polynomial(self, factors: Sequence[float], x: Value) -> Value:
        """The sum of factors times powers of x, from the power 0."""
        total = self.float32(factors[-1])
        for factor in reversed(factors[:-1]):
            total = self.plus(self.times(total, x), factor)
        return total

    def bits(self, x: Value) -> Value:
        return self.cast(arith.bitcast, 32, x)

    def of_bits(self, bits: Value) -> Value:
        return self.cast(arith.bitcast, F32Type.get(), bits)

    def masked(self, x: Value, mask: int) -> Value:
        """Some of the bits of x."""
        return self.op(arith.andi, self.bits(x), self.number(mask, 32))

    def where(
        self, predicate: arith.CmpFPredicate, a: Value, b: float, then: Value, other: Value
    ) -> Value:
        """`then` if the comparison holds, which is false if `a` is NaN."""
        holds = self.op(arith.cmpf, predicate, a, self.float32(b))
        return self.op(arith.select, holds, then, other)

    def unless(self, holds: Value, then: Value | float, other: Value | float) -> Value:
        """`other` if the condition holds, else `then`."""
        return self.op(arith.select, holds, self._value(other), self._value(then))

    def _value(self, x: Value | float) -> Value:
        return self.float32(x) if isinstance(x, float) else x


def _exp(write: _FloatWriter, op: Operation) -> Value:
    (x,) = op.operands
    is_share = AT_MOST_ZERO in op.attributes
    if not is_share:
        x = _at_most_largest(write, x)
    least = _LEAST_SHARE if is_share else _LEAST
    is_none = write.op(arith.cmpf, _LESS, x, write.float32(least))
    return _power(write, write.unless(is_none, x, least), is_none)


def _at_most_largest(write: _FloatWriter, x: Value) -> Value:
    return write.where(_GREATER, x, _LARGEST, write.float32(_LARGEST), x)


def _power(write: _FloatWriter, x: Value, is_none: Value | None = None) -> Value:
    """exp(x) for x between `_LEAST` and `_LARGEST`; 0 if `is_none`.

    Processors take a hundred cycles for a multiplication whose result is subnormal, and the masks
    of attention lead to many of them. Such elements are multiplied by 0 instead.
    """
    # Multiplies twice by the square root of the power of two: 2^128 is not a float32, and a
    # subnormal result must be rounded only once.
    rounded = write.plus(write.times(x, 0.5 / math.log(2)), _ROUNDER)
    whole = write.minus(rounded, _ROUNDER)
    rest = write.plus(x, write.times(whole, -2 * _LOG2_HIGH))
    rest = write.plus(rest, write.times(whole, -2 * _LOG2_LOW))
    power = write.polynomial((1.0, 1.0, *_EXP), rest)
    if is_none is not None:
        power = write.unless(is_none, power, 0.0)
    root = write.of_bits(write.op(arith.shli, write.bits(rounded), write.number(23, 32)))
    return write.times(write.times(power, root), root)


def _tanh(write: _FloatWriter, op: Operation) -> Value:
    (x,) = op.operands
    size = write.of_bits(write.masked(x, _SIGN - 1))
    square = write.times(size, size)
    near = write.times(write.times(write.polynomial(_TANH, square), square), size)
    twice = _at_most_largest(write, write.plus(size, size))
    power = write.plus(_power(write, twice), 1.0)
    far = write.minus(write.float32(1.0), write.op(arith.divf, write.float32(2.0), power))
    return _signed(write, write.where(_LESS, size, 0.625, write.plus(near, size), far), x)


def _erf(write: _FloatWriter, op: Operation) -> Value:
    (x,) = op.operands
    size = write.of_bits(write.masked(x, _SIGN - 1))
    near = write.times(write.polynomial(_ERF, write.times(size, size)), size)
    most = write.where(_GREATER, size, 4.0, write.float32(4.0), size)
    far = write.minus(write.float32(1.0), _power(write, write.polynomial(_LOG_ERFC, most)))
    return _signed(write, write.where(_LESS, size, 1.0, near, far), x)


def _erfc(write: _FloatWriter, op: Operation) -> Value:
    (x,) = op.operands
    size = write.of_bits(write.masked(x, _SIGN - 1))
    is_none = write.op(arith.cmpf, _GREATER, size, write.float32(_NO_TAIL))
    size = write.unless(is_none, size, _NO_TAIL)
    t = write.op(arith.divf, write.float32(2.0), write.plus(size, 2.0))
    factor = write.times(write.polynomial(_ERFCX, write.plus(t, -0.5)), t)
    # The exponential magnifies the rounding error of the square, so x is split: the square of its
    # first twelve bits is exact.
    square = write.times(size, size)
    high = write.of_bits(write.masked(size, -(1 << 12)))
    rest = write.times(write.minus(size, high), write.plus(size, high))
    lost = write.plus(write.minus(write.times(high, high), square), rest)
    power = _power(write, write.minus(write.float32(0.0), square), is_none)
    tail = write.times(write.minus(power, write.times(power, lost)), factor)
    return write.where(_LESS, x, 0.0, write.minus(write.float32(2.0), tail), tail)


def _signed(write: _FloatWriter, size: Value, x: Value) -> Value:
    """`size`, which is not negative, with the sign of x."""
    return write.of_bits(write.op(arith.ori, write.bits(size), write.masked(x, _SIGN)))


_EXPANSIONS = {"math.exp": _exp, "math.tanh": _tanh, "math.erf": _erf, "math.erfc": _erfc}
