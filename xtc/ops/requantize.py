# SPDX-License-Identifier: Apache-2.0
"""requantize: int32 sums as narrow integers of another scale, in exact integer arithmetic.

A scale is a multiplier of 31 bits and a shift, as in TensorFlow Lite's reference kernels
(tensorflow/lite/kernels/internal/common.h, MultiplyByQuantizedMultiplier):

| rounding | of x * multiplier * 2^(left - right - 31) |
|---|---|
| double | x * 2^left * multiplier / 2^31, ties up; then that / 2^right, ties away from zero |
| single | once, ties up |

With `double`, x * 2^left wraps unless its magnitude is below 2^30, as for sums of int8 products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES, TensorType, element_type
from xtc.core.value_checks import whole
from xtc.graph.builder import apply, tensor
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_choice, check_flag, check_operands, user_function
from xtc.ops.elementwise import Elementwise, broadcast_shape, emit_elementwise

ROUNDINGS = ("double", "single")
_BITS = 31  # of a multiplier
_INT32, _INT64 = ELEMENT_TYPES["int32"], ELEMENT_TYPES["int64"]


@dataclass(frozen=True)
class Requantize(Elementwise):
    """Operands x, multiplier, left and right shift, int32; see the table in this file.

    `zero_point` is added, and the result clamped to `low` ... `high` of the type `dtype`. The
    multiplier is not negative; shifts are 0 to 31, left shifts with `single` at most 30. `divides`
    states that right shifts are 1 or more, which saves a test for each number.
    """

    name: ClassVar[str] = "requantize"
    operands: ClassVar[int] = 4
    flops_per_element: ClassVar[int] = 2
    zero_point: int = 0
    low: int = -128
    high: int = 127
    dtype: str = "int8"
    rounding: str = "double"
    divides: bool = False

    def infer(self, *inputs: TensorType) -> TensorType:
        x, *rest = check_operands(self.name, inputs, 4)
        for type in inputs:
            if type.element != _INT32:
                raise UserError(
                    f"an operand of requantize is {type.element}, not int32",
                    hints=["O.cast(x, 'int32') converts it"],
                )
        element = element_type(check_choice(self.name, "dtype", self.dtype, tuple(ELEMENT_TYPES)))
        check_choice(self.name, "rounding", self.rounding, ROUNDINGS)
        check_flag(self.name, "divides", self.divides)
        if element.kind != "int" or element.bits > _INT32.bits:
            raise UserError(f"requantize gives integers of up to 32 bits, not {element}")
        least, greatest = element.limits
        whole("low", self.low, least, self.high)
        whole("high", self.high, self.low, greatest)
        whole("zero_point", self.zero_point, *_INT32.limits)
        shape = broadcast_shape(self.name, inputs)
        if shape != x.shape:
            raise UserError(
                f"the scales of requantize have shape {rest[0].shape}, which does not broadcast to "
                f"{x.shape}"
            )
        return x.with_element(element)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(scalars: ScalarBuilder, *elements: Scalar) -> Scalar:
            return scalars.cast(self.scalar(scalars, *elements[:-1]), result.element)

        return emit_elementwise(builder, inputs, result, body)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        if self.rounding == "single":
            steps = _single(body, *elements)
        else:
            steps = _double(body, *elements, divides=self.divides)
        steps = body.add(steps, body.constant(self.zero_point, _INT32))
        steps = body.maximum(steps, body.constant(self.low, _INT32))
        return body.minimum(steps, body.constant(self.high, _INT32))

    def reference(self, *arrays: Array) -> Array:
        x, multiplier, left, right = (array.astype(np.int64) for array in arrays)
        if self.rounding == "single":
            total = _BITS - left + right
            steps = (x * multiplier + (np.int64(1) << (total - 1))) >> total
        else:
            twice = (x << left + 1).astype(np.int32).astype(np.int64)
            high = (twice * multiplier + (1 << _BITS)) >> _BITS + 1
            half = (np.int64(1) << right) >> 1
            down = (high < 0) & (self.divides | (right > 0))
            steps = (high + half - down).astype(np.int32) >> right
        steps = steps.astype(np.int32) + np.int32(self.zero_point)
        limited: Array = np.clip(steps, self.low, self.high)
        return np.asarray(limited, element_type(self.dtype).numpy)


def _double(
    body: ScalarBuilder, x: Scalar, factor: Scalar, left: Scalar, right: Scalar, *, divides: bool
) -> Scalar:
    unit, last = body.constant(1, _INT32), body.constant(31, _INT32)
    # Twice the number, so that the half is the bit by which high-word products round.
    twice = body.shift("left", body.shift("left", x, left, inside=True), unit, inside=True)
    product = body.mul(body.cast(twice, _INT64), body.cast(factor, _INT64))
    up = body.add(product, body.constant(1 << _BITS, _INT64))
    high = body.shift("right", up, body.constant(_BITS + 1, _INT64), inside=True)
    narrow = body.cast(high, _INT32)
    # -1 for negative numbers that are divided, so that ties round away from zero.
    down = narrow if divides else body.bits("and", narrow, body.neg(right))
    sign = body.shift("right", down, last, inside=True)
    power = body.shift("left", unit, right, inside=True)
    bits = body.bitcast(power, ELEMENT_TYPES["uint32"])
    half = body.bitcast(body.shift("right", bits, unit, inside=True), _INT32)
    return body.shift("right", body.add(body.add(narrow, sign), half), right, inside=True)


def _single(body: ScalarBuilder, x: Scalar, factor: Scalar, left: Scalar, right: Scalar) -> Scalar:
    shifts = body.sub(right, left)
    total = body.cast(body.add(shifts, body.constant(_BITS, _INT32)), _INT64)
    unit = body.constant(1, _INT64)
    half = body.shift("left", unit, body.sub(total, unit), inside=True)
    product = body.mul(body.cast(x, _INT64), body.cast(factor, _INT64))
    return body.cast(body.shift("right", body.add(product, half), total, inside=True), _INT32)


def fixed_point(scale: float) -> tuple[int, int, int]:
    """A positive scale as multiplier, left and right shift.

    The multiplier has 31 bits; scales below 2^-31 become 0 (QuantizeMultiplier in
    tensorflow/lite/kernels/internal/quantization_util.cc). Raises UserError unless it is positive
    and below 2^31.
    """
    if not 0 < scale < 2.0**_BITS:
        raise UserError(f"the scale {scale!r} of requantize is not between 0 and 2^31")
    fraction, exponent = math.frexp(scale)
    multiplier = math.floor(fraction * (1 << _BITS) + 0.5)
    if multiplier == 1 << _BITS:
        multiplier, exponent = multiplier // 2, exponent + 1
    if exponent < -_BITS:
        return 0, 0, 0
    return multiplier, max(exponent, 0), max(-exponent, 0)


def _constant(part: Array) -> Tensor:
    """A constant; of rank 0 if all elements are equal, so that it becomes an immediate."""
    if part.size and (part == part.flat[0]).all():
        part = part.flat[0].reshape(())
    return tensor(part.shape, "int32", const=part)


@user_function
def requantize(
    x: Tensor,
    scale: float | Sequence[float] | Array,
    *,
    zero_point: int = 0,
    dtype: str = "int8",
    low: int | None = None,
    high: int | None = None,
    rounding: str = "double",
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """`x`, int32, times `scale`, rounded, plus `zero_point`, saturated to `dtype`.

    `scale` is a positive number, or one for each index of the last dimension. `low` and `high`
    clamp the result further than `dtype`, for an activation. `rounding` is "double" or "single", as
    in the table of `xtc.ops.requantize`. Raises UserError if types or scales do not fit.
    """
    scales = np.asarray(scale, np.float64)
    if scales.ndim > 1:
        raise UserError(f"the scales of requantize have shape {scales.shape}, not one dimension")
    parts = np.array([fixed_point(float(s)) for s in scales.reshape(-1)], np.int32).T
    least, greatest = element_type(dtype).limits
    limits = (least if low is None else low, greatest if high is None else high)
    op = Requantize(zero_point, *limits, dtype, rounding, bool((parts[2] > 0).all()))
    return by_parts(op, x, parts, scales.shape, name=name, device=device)


def by_parts(
    op: Requantize,
    x: Tensor,
    parts: Array,
    shape: tuple[int, ...] = (),
    *,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """Requantize `x` by the rows of `parts`: multipliers, left shifts and right shifts."""
    constants = [_constant(part.reshape(shape)) for part in np.asarray(parts, np.int32)]
    return apply(op, x, *constants, name=name, device=device)
