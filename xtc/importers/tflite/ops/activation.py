# SPDX-License-Identifier: Apache-2.0
"""Activations. Those in int8 are tables of 256 elements, computed at import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.tflite.call import Call, integer_limits, limited, tabulated
from xtc.importers.tflite.table import reads
from xtc.importers.values import Array, Unsupported
from xtc.ops import fixed_point as fixed
from xtc.ops.requantize import fixed_point

_INPUT_BITS = 4  # integer bits of the operands of logistic and tanh


def _relu(name: str, low: float | None, high: float | None) -> None:
    @reads(name)
    def read(call: Call) -> Tensor:
        x = call.tensor(0)
        if not call.quantized:
            return limited(x, (low, high))
        q, y = call.scale(0), call.result_scale
        limits = integer_limits((low, high), y)
        steps = O.sub(O.cast(x, "int32"), q.zero_point)
        factor = float(np.float32(q.scale) / np.float32(y.scale))
        return O.requantize(steps, factor, zero_point=y.zero_point, low=limits[0], high=limits[1])


_relu("RELU", 0.0, None)
_relu("RELU6", 0.0, 6.0)
_relu("RELU_N1_TO_1", -1.0, 1.0)
_relu("RELU_0_TO_1", 0.0, 1.0)


def _rescaled(steps: Array, scale: float) -> tuple[Array, int]:
    """Fixed-point numbers with 4 integer bits, and the radius that they can represent."""
    multiplier, left, right = fixed_point(scale * (1 << (31 - _INPUT_BITS)))
    if right:
        raise Unsupported(f"the scale {scale!r}")
    radius = fixed.radius(_INPUT_BITS, left)
    inside = np.clip(steps, -radius, radius)
    return fixed.product(inside << left, multiplier), radius


def _sigmoid(call: Call, function: Callable[[Any, int], Array], bits: int, zero: int) -> Tensor:
    q, y = call.scale(0), call.result_scale
    if y != O.Quantization(2.0**-bits, zero):
        raise Unsupported(f"a result of scale {y.scale} and zero point {y.zero_point}")
    steps = np.arange(-128, 128, dtype=np.int64) - q.zero_point
    numbers, radius = _rescaled(steps, q.scale)
    rounded = fixed.divided(function(numbers, _INPUT_BITS), 31 - bits) + zero
    rounded = np.where(steps <= -radius, -128, np.where(steps >= radius, 127, rounded))
    return O.lookup(call.tensor(0), np.clip(rounded, -128, 127).astype(np.int8))


@reads("LOGISTIC")
def logistic(call: Call) -> Tensor:
    if not call.quantized:
        return O.sigmoid(call.tensor(0))
    return _sigmoid(call, fixed.logistic, 8, -128)


@reads("TANH")
def tanh(call: Call) -> Tensor:
    if not call.quantized:
        return O.tanh(call.tensor(0))
    return _sigmoid(call, fixed.tanh, 7, 0)


@reads("HARD_SWISH")
def hard_swish(call: Call) -> Tensor:
    x = call.tensor(0)
    if call.quantized:
        return O.lookup(x, _hard_swish_table(call.scale(0), call.result_scale))
    return O.mul(x, O.mul(limited(O.add(x, 3.0), (0.0, 6.0)), 1 / 6))


def _hard_swish_table(q: O.Quantization, y: O.Quantization) -> Array:
    """In 16-bit integers, as in tensorflow/lite/kernels/internal/reference/hard_swish.h."""
    fine = np.float32(np.float32(1 / 128) * np.float32(q.scale))
    gate, gate_shift = _narrow(float(fine / np.float32(3 / 32768)))
    factor, shift = _narrow(float(fine / np.float32(y.scale)))
    if shift > 0:
        raise Unsupported(f"scales {q.scale} and {y.scale}")
    steps = (np.arange(-128, 128) - q.zero_point) << 7
    share = steps
    if gate_shift > 0:
        share = _within_16(share << (gate_shift - 1))
    share = _high(share, gate)
    if gate_shift > 0:
        share = _within_16(share << 1)
    if gate_shift < 0:
        share = fixed.divided(share, -gate_shift)
    share = (share + (1 << 15)) >> 1
    product = share * _high(steps, factor)
    high = np.where(product >= 0, product >> 15, -(-product >> 15))
    found = fixed.divided(_within_16(high), -shift) + y.zero_point
    return np.clip(found, -128, 127).astype(np.int8)


def _narrow(scale: float) -> tuple[int, int]:
    """A 15-bit multiplier and its exponent."""
    multiplier, left, right = fixed_point(scale)
    return min((multiplier + (1 << 15)) >> 16, (1 << 15) - 1), left - right


def _high(numbers: Any, factor: int) -> Array:
    """numbers * factor / 2^15, rounded to nearest with halves up; saturated."""
    return _within_16((np.asarray(numbers, np.int64) * factor + (1 << 14)) >> 15)


def _within_16(numbers: Any) -> Array:
    found: Array = np.clip(np.asarray(numbers, np.int64), -(1 << 15), (1 << 15) - 1)
    return found


@reads("PRELU")
def prelu(call: Call) -> Tensor:
    x, slope = call.tensor(0), call.tensor(1)
    if not call.quantized:
        return O.where(O.greater_equal(x, 0.0), x, O.mul(x, slope))
    q, a, y = call.scale(0), call.scale(1), call.result_scale
    steps = O.sub(O.cast(x, "int32"), q.zero_point)
    slopes = O.sub(O.cast(slope, "int32"), a.zero_point)
    qs, qa, qy = np.float32(q.scale), np.float32(a.scale), np.float32(y.scale)
    kept = O.requantize(steps, float(qs / qy), zero_point=y.zero_point)
    sloped = O.requantize(O.mul(steps, slopes), float(qs * qa / qy), zero_point=y.zero_point)
    return O.where(O.greater_equal(steps, 0), kept, sloped)


@reads("LEAKY_RELU")
def leaky_relu(call: Call) -> Tensor:
    x, alpha = call.tensor(0), float(call.options("LeakyReluOptions").Alpha())
    if not call.quantized:
        return O.leaky_relu(x, slope=alpha)
    q, y = call.scale(0), call.result_scale
    qs, qy = np.float32(q.scale), np.float32(y.scale)
    steps = O.sub(O.cast(x, "int32"), q.zero_point)
    kept = O.requantize(steps, float(qs / qy), zero_point=y.zero_point)
    factor = float(qs * np.float32(alpha) / qy)
    if factor <= 0:
        raise Unsupported(f"a slope of {alpha}")
    sloped = O.requantize(steps, factor, zero_point=y.zero_point)
    return O.where(O.greater_equal(steps, 0), kept, sloped)


def _elu(x: Tensor) -> Tensor:
    return O.where(O.greater(x, 0.0), x, O.sub(O.exp(O.minimum(x, 0.0)), 1.0))


@reads("ELU")
def elu(call: Call) -> Tensor:
    if not call.quantized:
        return _elu(call.tensor(0))
    return O.lookup(call.tensor(0), tabulated(call, lambda x: np.where(x < 0, np.expm1(x), x)))


@reads("LOG_SOFTMAX")
def log_softmax(call: Call) -> Tensor:
    x = call.tensor(0)
    if call.quantized:
        raise Unsupported("int8")
    steps = O.sub(x, O.reduce_max(x, axes=(-1,), keepdims=True))
    return O.sub(steps, O.log(O.reduce_sum(O.exp(steps), axes=(-1,), keepdims=True)))


@reads("SOFTMAX")
def softmax(call: Call) -> Tensor:
    x, beta = call.tensor(0), float(call.options("SoftmaxOptions").Beta())
    if not call.quantized:
        return O.softmax(x if beta == 1 else O.mul(x, beta), axis=-1)
    y = call.result_scale
    if y != O.Quantization(1 / 256, -128):
        raise Unsupported(f"a result of scale {y.scale} and zero point {y.zero_point}")
    return O.quantized_softmax(x, call.scale(0).scale, beta=beta)
