# SPDX-License-Identifier: Apache-2.0
"""Sums, products and means of quantized tensors, built from integer operators.

The rules are those of TensorFlow Lite's reference kernels for int8 (reference_ops/integer_ops:
add.h, mul.h, mean.h in tensorflow/lite/kernels/internal): exact integer arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import element_type
from xtc.graph.builder import tensor
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ops.add import add
from xtc.ops.attributes import user_function
from xtc.ops.cast import cast
from xtc.ops.gather import gather
from xtc.ops.greater import greater
from xtc.ops.mul import mul
from xtc.ops.reduce_sum import reduce_sum
from xtc.ops.requantize import Requantize, by_parts, fixed_point, requantize
from xtc.ops.shift_left import shift_left
from xtc.ops.sub import sub
from xtc.ops.trunc_div import trunc_div
from xtc.ops.where import where

_LEFT = 20  # left shift of a sum's operands, to limit the rounding error


@dataclass(frozen=True)
class Quantization:
    """A real number is (integer - zero_point) * scale."""

    scale: float
    zero_point: int = 0


@user_function
def quantized_add(
    a: Tensor,
    b: Tensor,
    quantizations: tuple[Quantization, Quantization, Quantization],
    *,
    low: int | None = None,
    high: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The sum of `a` and `b`, int8 or uint8, quantized by the third of `quantizations`.

    The first two are those of `a` and `b`. `low` and `high` limit the result: an activation. Raises
    UserError if types or scales do not fit.
    """
    parts, scale = _aligned(a, b, quantizations)
    return _as(a, add(*parts), scale, quantizations[2].zero_point, (low, high), name)


@user_function
def quantized_sub(
    a: Tensor,
    b: Tensor,
    quantizations: tuple[Quantization, Quantization, Quantization],
    *,
    low: int | None = None,
    high: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The difference of `a` and `b`, int8 or uint8; parameters are those of `quantized_add`."""
    parts, scale = _aligned(a, b, quantizations)
    return _as(a, sub(*parts), scale, quantizations[2].zero_point, (low, high), name)


@user_function
def quantized_mul(
    a: Tensor,
    b: Tensor,
    quantizations: tuple[Quantization, Quantization, Quantization],
    *,
    low: int | None = None,
    high: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The product of `a` and `b`, int8 or uint8; parameters are those of `quantized_add`."""
    qa, qb, qy = quantizations
    product = mul(_steps(a, qa), _steps(b, qb))
    return _as(a, product, qa.scale * qb.scale / qy.scale, qy.zero_point, (low, high), name)


@user_function
def quantized_mean(
    x: Tensor,
    *,
    axes: tuple[int, ...],
    quantizations: tuple[Quantization, Quantization] | None = None,
    keepdims: bool = True,
    name: str | None = None,
) -> Tensor:
    """The mean of `x`, int8 or uint8, along `axes`.

    Without `quantizations` the result is quantized as `x` is, and halves are rounded away from
    zero, as TensorFlow Lite's average pooling does. Otherwise they are those of `x` and of the
    result, by the rule of its means (QuantizedMeanOrSum in reference/reduce.h).
    """
    _check(x)
    count = 1
    for axis in axes:
        count *= int(x.shape[axis])
    total = reduce_sum(cast(x, "int32"), axes=axes, keepdims=keepdims)
    if quantizations is not None:
        qx, qy = quantizations
        steps = sub(total, qx.zero_point * count) if qx.zero_point else total
        return _divided(steps, count, qx.scale / qy.scale, qy.zero_point, x.dtype, name)
    half = count // 2
    nearest = where(greater(total, 0), add(total, half), sub(total, half))
    return cast(trunc_div(nearest, count), x.dtype, name=name)


def _divided(
    total: Tensor, count: int, scale: float, zero_point: int, dtype: str, name: str | None
) -> Tensor:
    """total * scale / count, with the multiplier divided by the count."""
    multiplier, left, right = fixed_point(scale)
    shift = min(count.bit_length() - 1, 32, 31 + left - right)
    multiplier = (multiplier << shift) // count
    exponent = left - right - shift
    parts = np.array([multiplier, max(exponent, 0), max(-exponent, 0)], np.int32)
    limits = element_type(dtype).limits
    op = Requantize(zero_point, *limits, dtype, divides=exponent < 0)
    return by_parts(op, total, parts, name=name)


@user_function
def lookup(x: Tensor, table: Array, *, name: str | None = None) -> Tensor:
    """`table[x + 128]` of an int8 `x`: any function of 256 values. Raises UserError."""
    if x.dtype != "int8" or np.shape(table) != (256,):
        raise UserError(
            f"lookup takes int8 and 256 values, not {x.dtype} and shape {np.shape(table)}"
        )
    values = tensor((256,), np.asarray(table).dtype.name, const=np.asarray(table))
    return gather(values, add(cast(x, "int32"), 128), name=name)


def _aligned(
    a: Tensor, b: Tensor, quantizations: tuple[Quantization, Quantization, Quantization]
) -> tuple[list[Tensor], float]:
    """Both operands in a common scale, and its ratio to the result's scale."""
    qa, qb, qy = quantizations
    twice = 2 * max(qa.scale, qb.scale)
    parts = [
        requantize(shift_left(_steps(x, q), _LEFT), q.scale / twice, dtype="int32")
        for x, q in ((a, qa), (b, qb))
    ]
    return parts, twice / ((1 << _LEFT) * qy.scale)


def _check(x: Tensor) -> None:
    if x.dtype not in ("int8", "uint8"):
        raise UserError(f"quantized tensors are int8 or uint8, not {x.dtype}")


def _steps(x: Tensor, quantization: Quantization) -> Tensor:
    """The integers without their zero point, as int32."""
    _check(x)
    wide = cast(x, "int32")
    return sub(wide, quantization.zero_point) if quantization.zero_point else wide


def _as(
    like: Tensor,
    x: Tensor,
    scale: float,
    zero_point: int,
    limits: tuple[int | None, int | None],
    name: str | None,
) -> Tensor:
    least, greatest = element_type(like.dtype).limits
    low, high = (
        chosen if chosen is not None else limit
        for chosen, limit in zip(limits, (least, greatest), strict=True)
    )
    return requantize(
        x, scale, zero_point=zero_point, dtype=like.dtype, low=low, high=high, name=name
    )
