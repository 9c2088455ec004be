# SPDX-License-Identifier: Apache-2.0
"""softmax_share: the last step of integer softmax: an exponential over the sum of its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES, TensorType
from xtc.graph.operator import Array
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops import fixed_point as fixed
from xtc.ops.attributes import check_operands
from xtc.ops.elementwise import Elementwise, broadcast_shape, emit_elementwise

SUM_BITS = 12  # integer bits of sums
_LEAST, _GREATEST = -128, 127
_INT8, _INT32, _INT64 = ELEMENT_TYPES["int8"], ELEMENT_TYPES["int32"], ELEMENT_TYPES["int64"]


@dataclass(frozen=True)
class SoftmaxShare(Elementwise):
    """power / total in units of 1/256, less 128: int8.

    Operands are int32: a power from 0 to 1 without integer bits, and a sum of powers, 1 or more,
    with 12. The reciprocal of the sum has 31 bits, by three Newton iterations.
    """

    name: ClassVar[str] = "softmax_share"
    operands: ClassVar[int] = 2
    flops_per_element: ClassVar[int] = 2

    def infer(self, *inputs: TensorType) -> TensorType:
        power, _ = check_operands(self.name, inputs, 2)
        for type in inputs:
            if type.element != _INT32:
                raise UserError(f"an operand of softmax_share is {type.element}, not int32")
        if broadcast_shape(self.name, inputs) != power.shape:
            raise UserError(f"the sums of softmax_share do not broadcast to {power.shape}")
        return power.with_element(_INT8)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(scalars: ScalarBuilder, *elements: Scalar) -> Scalar:
            return scalars.cast(self.scalar(scalars, *elements[:-1]), result.element)

        return emit_elementwise(builder, inputs, result, body)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        power, total = elements
        zeros, shifted = _normalized(body, total)
        inverse = _inverse(body, shifted)
        steps = _doubling_product(body, inverse, power)
        exponent = body.sub(_int(body, SUM_BITS + 31 - 8), zeros)
        unit = _int(body, 1)
        half = body.shift("left", unit, body.sub(exponent, unit), inside=True)
        # Rounds non-negative numbers, ties up. The sum is below 2^32.
        wide = body.add(body.cast(steps, _INT64), body.cast(half, _INT64))
        down = body.shift("right", wide, body.cast(exponent, _INT64), inside=True)
        moved = body.add(body.cast(down, _INT32), _int(body, _LEAST))
        return body.minimum(moved, _int(body, _GREATEST))

    def reference(self, *arrays: Array) -> Array:
        power, total = (array.astype(np.int64) for array in arrays)
        zeros = 31 - np.floor(np.log2(total)).astype(np.int64)
        inverse = fixed.inverse_of_one_more((total << zeros) - (1 << 31))
        exponent = SUM_BITS - zeros + 31 - 8
        steps = (fixed.product(inverse, power) + (np.int64(1) << (exponent - 1))) >> exponent
        return np.asarray(np.minimum(steps + _LEAST, _GREATEST), np.int8)


def _int(body: ScalarBuilder, value: int) -> Scalar:
    return body.constant(value, _INT32)


def _normalized(body: ScalarBuilder, total: Scalar) -> tuple[Scalar, Scalar]:
    """The leading zeros of a positive number, and the number without its first bit, below 2^31.

    A binary search over its bits: not all cores have an instruction for it.
    """
    zeros, rest = _int(body, 0), total
    for bits in (16, 8, 4, 2, 1):
        small = body.compare("lt", rest, _int(body, 1 << (31 - bits)))
        moved = body.shift("left", rest, _int(body, bits), inside=True)
        rest = body.select(small, moved, rest)
        zeros = body.select(small, body.add(zeros, _int(body, bits)), zeros)
    # Excludes the sign bit: the first bit of `rest` is now at 30.
    shifted = body.shift("left", rest, _int(body, 1), inside=True)
    return body.add(zeros, _int(body, 1)), body.bits("and", shifted, _int(body, fixed.GREATEST))


def _doubling_product(body: ScalarBuilder, a: Scalar, b: Scalar) -> Scalar:
    """a * b / 2^31 to nearest, in int32; at most one of them is the least number."""
    whole = body.mul(body.cast(a, _INT64), body.cast(b, _INT64))
    up = body.add(whole, body.constant(1 << 30, _INT64))
    return body.cast(body.shift("right", up, body.constant(31, _INT64), inside=True), _INT32)


def _inverse(body: ScalarBuilder, x: Scalar) -> Scalar:
    """1 / (1 + x): `fixed_point.inverse_of_one_more`, scalar by scalar."""
    sum = body.add(body.cast(x, _INT64), body.constant(1 << 31, _INT64))
    half = body.cast(body.shift("right", sum, body.constant(1, _INT64), inside=True), _INT32)
    start = _doubling_product(body, half, _int(body, fixed.NEG_32_OVER_17))
    found = body.add(_int(body, fixed.N48_OVER_17), start)
    for _ in range(3):
        left = body.sub(_int(body, 1 << 29), _doubling_product(body, half, found))
        step = _doubling_product(body, found, left)
        found = body.add(found, body.shift("left", step, _int(body, 2), inside=True))
    doubled = body.shift("left", body.cast(found, _INT64), body.constant(1, _INT64), inside=True)
    return body.cast(body.minimum(doubled, body.constant(fixed.GREATEST, _INT64)), _INT32)
