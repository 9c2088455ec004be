# SPDX-License-Identifier: Apache-2.0
"""Activations. Those of int8 are tables of 256 elements, computed at import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.tflite.call import Call, integer_limits, limited
from xtc.importers.tflite.table import reads
from xtc.importers.values import Array, Unsupported
from xtc.ops import fixed_point as fixed
from xtc.ops.requantize import fixed_point

_INPUT_BITS = 4  # integer bits of operands of logistic and tanh


def _relu(name: str, low: float | None, high: float | None) -> None:
    @reads(name)
    def read(call: Call) -> Tensor:
        x = call.tensor(0)
        if not call.quantised:
            return limited(x, (low, high))
        q, y = call.scale(0), call.result_scale
        limits = integer_limits((low, high), y)
        steps = O.sub(O.cast(x, "int32"), q.zero_point)
        factor = float(np.float32(q.scale) / np.float32(y.scale))
        return O.requantize(steps, factor, zero_point=y.zero_point, low=limits[0], high=limits[1])


_relu("RELU", 0.0, None)
_relu("RELU6", 0.0, 6.0)
_relu("RELU_N1_TO_1", -1.0, 1.0)


def _rescaled(steps: Array, scale: float) -> tuple[Array, int]:
    """Integers with 4 integer bits, and the radius within which they have room."""
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
    if not call.quantised:
        return O.sigmoid(call.tensor(0))
    return _sigmoid(call, fixed.logistic, 8, -128)


@reads("TANH")
def tanh(call: Call) -> Tensor:
    if not call.quantised:
        return O.tanh(call.tensor(0))
    return _sigmoid(call, fixed.tanh, 7, 0)


@reads("HARD_SWISH")
def hard_swish(call: Call) -> Tensor:
    x = call.tensor(0)
    if call.quantised:
        raise Unsupported("int8")
    return O.mul(x, O.mul(limited(O.add(x, 3.0), (0.0, 6.0)), 1 / 6))


@reads("PRELU")
def prelu(call: Call) -> Tensor:
    x, slope = call.tensor(0), call.tensor(1)
    if call.quantised:
        raise Unsupported("int8")
    return O.where(O.greater_equal(x, 0.0), x, O.mul(x, slope))


@reads("LEAKY_RELU")
def leaky_relu(call: Call) -> Tensor:
    x, alpha = call.tensor(0), float(call.options("LeakyReluOptions").Alpha())
    if call.quantised:
        raise Unsupported("int8")
    return O.leaky_relu(x, slope=alpha)


@reads("SOFTMAX")
def softmax(call: Call) -> Tensor:
    x, beta = call.tensor(0), float(call.options("SoftmaxOptions").Beta())
    if not call.quantised:
        return O.softmax(x if beta == 1 else O.mul(x, beta), axis=-1)
    y = call.result_scale
    if y != O.Quantization(1 / 256, -128):
        raise Unsupported(f"a result of scale {y.scale} and zero point {y.zero_point}")
    return O.quantized_softmax(x, call.scale(0).scale, beta=beta)
