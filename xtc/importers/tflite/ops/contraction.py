# SPDX-License-Identifier: Apache-2.0
"""Convolutions and fully connected layers.

In int8, sums are over raw integers; the bias includes the contribution of the image's zero point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tflite

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import padded, taken
from xtc.importers.tflite.call import Call, integer_limits, known, limited, limits_of
from xtc.importers.tflite.table import reads
from xtc.importers.tflite.windows import images, windows, with_border
from xtc.importers.values import Array, Unsupported, Value, as_tensor, dtype_of


@reads("CONV_2D")
def conv_2d(call: Call) -> Tensor:
    options, x = call.options("Conv2DOptions"), call.tensor(0)
    _image(call, x)
    f, height, width, c = call.shape(1)
    groups, rest = divmod(x.type.sizes[3], c)
    if rest or groups < 1 or f % groups:
        raise Unsupported(f"filters of {c} channels on an image of {x.type.sizes[3]}")
    kernel = _transposed(_weights(call), (1, 2, 3, 0))
    return _conv(call, options, x, kernel, (height, width), groups)


@reads("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(call: Call) -> Tensor:
    options, x = call.options("DepthwiseConv2DOptions"), call.tensor(0)
    _image(call, x)
    single, height, width, filters = call.shape(1)
    channels = x.type.sizes[3]
    if single != 1 or filters % channels:
        raise Unsupported(f"filters {call.shape(1)} on an image of {channels} channels")
    kernel = _transposed(_weights(call), (1, 2, 0, 3))
    return _conv(call, options, x, kernel, (height, width), channels)


def _image(call: Call, x: Tensor) -> None:
    images(x)
    if len(call.shape(1)) != 4 or 0 in call.shape(1):
        raise Unsupported(f"filters of shape {call.shape(1)}")


def _conv(
    call: Call, options: object, x: Tensor, kernel: Value, taps: tuple[int, int], groups: int
) -> Tensor:
    dilations = options.DilationHFactor(), options.DilationWFactor()  # type: ignore[attr-defined]
    slides = windows(x.type.sizes[1:3], taps, options, dilations)
    zero = call.scale(0).zero_point if call.quantized else 0
    image = with_border(x, slides, zero)

    def slid_by(weights: Tensor) -> Tensor:
        stride = slides[0].stride, slides[1].stride
        return O.conv2d(image, weights, stride=stride, dilation=dilations, groups=groups)

    return _finished(call, slid_by, kernel, options, filters=1 if groups == 1 else None)


@reads("FULLY_CONNECTED")
def fully_connected(call: Call) -> Tensor:
    options, x = call.options("FullyConnectedOptions"), call.tensor(0)
    if options.WeightsFormat() != tflite.FullyConnectedOptionsWeightsFormat.DEFAULT:
        raise Unsupported("shuffled weights")
    rows, terms = call.shape(1)
    if x.type.size % terms:
        raise Unsupported(f"weights {call.shape(1)} on {x.type.size} elements")
    flat = x if x.type.rank == 2 and x.type.sizes[1] == terms else O.reshape(x, (-1, terms))
    kernel = _transposed(_weights(call), (1, 0))
    result = _finished(call, lambda weights: O.matmul(flat, weights), kernel, options, filters=1)
    if options.KeepNumDims():
        return O.reshape(result, (*x.type.sizes[:-1], rows))
    return result


@reads("TRANSPOSE_CONV")
def transpose_conv(call: Call) -> Tensor:
    """A convolution of the dilated image with flipped filters."""
    options, x = call.options("TransposeConvOptions"), call.tensor(2)
    images(x)
    strides = options.StrideH(), options.StrideW()
    if min(strides) < 1 or len(call.shape(1)) != 4:
        raise Unsupported(f"strides {strides}, filters {call.shape(1)}")
    moved = Call(
        call.operator,
        [call.operand(2), call.operand(1), call.tensors[3] if call.has(3) else None],
        [call.value(2), call.value(1), call.value(3) if call.has(3) else None],
        call.results,
    )
    zero = moved.scale(0).zero_point if moved.quantized else 0
    wide = _with_gaps(x, strides, zero)
    border = []
    for d, step in enumerate(strides):
        size, taps, wanted = x.type.sizes[d + 1], call.shape(1)[d + 1], call.results[0].shape[d + 1]
        whole = (size - 1) * step + taps
        same = options.Padding() == tflite.Padding.SAME
        before = max(whole - wanted, 0) // 2 if same else 0
        border.append((taps - 1 - before, taps - 1 - (whole - before - wanted)))
    image = as_tensor(padded(wide, [(0, 0), *border, (0, 0)], "constant", zero))
    kernel = _weights(moved)
    if isinstance(kernel, Tensor):
        raise Unsupported("computed filters")
    turned = np.ascontiguousarray(np.flip(kernel, axis=(1, 2)).transpose(1, 2, 3, 0))
    return _finished(moved, lambda w: O.conv2d(image, w), turned, options, filters=1)


def _with_gaps(x: Tensor, strides: tuple[int, int], value: int) -> Tensor:
    """Dilate by `strides`, filling with a value."""
    if max(strides) == 1:
        return x
    n, h, w, c = x.type.sizes
    high, wide = strides
    split = O.reshape(x, (n, h, 1, w, 1, c))
    none = (0, 0)
    grown = O.pad(split, (none, none, (0, high - 1), none, (0, wide - 1), none), value=value)
    whole = O.reshape(grown, (n, h * high, w * wide, c))
    inner = [range(n), range((h - 1) * high + 1), range((w - 1) * wide + 1), range(c)]
    return as_tensor(taken(whole, inner))


@reads("BATCH_MATMUL")
def batch_matmul(call: Call) -> Tensor:
    options, a, b = call.options("BatchMatMulOptions"), call.tensor(0), call.tensor(1)
    turned_a, turned_b = bool(options.AdjX()), bool(options.AdjY())
    if {a.dtype, b.dtype} == {"float32"}:
        return O.matmul(a, b, transpose_a=turned_a, transpose_b=turned_b)
    if not call.quantized or b.dtype != "int8":
        raise Unsupported(f"operands of {a.dtype} and {b.dtype}")
    p, q, y = call.scale(0), call.scale(1), call.result_scale
    total = O.matmul(a, b, transpose_a=turned_a, transpose_b=turned_b)
    k = a.type.sizes[-2 if turned_a else -1]
    # Subtract the contributions of the zero points to each row and column.
    if q.zero_point:
        rows = O.reduce_sum(O.cast(a, "int32"), axes=(-2 if turned_a else -1,), keepdims=True)
        rows = _row(rows) if turned_a else rows
        total = O.sub(total, O.mul(rows, q.zero_point))
    if p.zero_point:
        columns = O.reduce_sum(O.cast(b, "int32"), axes=(-1 if turned_b else -2,), keepdims=True)
        columns = _row(columns) if turned_b else columns
        total = O.sub(total, O.mul(columns, p.zero_point))
    total = O.add(total, k * p.zero_point * q.zero_point)
    factor = float(np.float32(p.scale) * np.float32(q.scale)) / y.scale
    return O.requantize(total, factor, zero_point=y.zero_point, rounding="single")


def _row(x: Tensor) -> Tensor:
    """Transpose the last two dimensions: a column to a row, or vice versa."""
    rank = x.type.rank
    return O.transpose(x, axes=(*range(rank - 2), rank - 1, rank - 2))


def _weights(call: Call) -> Value:
    """Weights in the operand's kind; int8 weights of a float32 operand are dequantized.

    TensorFlow Lite's own kernels round the operand to int8 in each call too, and are less exact.
    """
    value = call.value(1)
    if call.quantized or dtype_of(value) == "float32":
        return value
    return known(call, 1)


def _transposed(value: Value, axes: tuple[int, ...]) -> Value:
    if isinstance(value, Tensor):
        return O.transpose(value, axes=axes)
    return np.ascontiguousarray(np.transpose(value, axes))


def _finished(
    call: Call,
    sums: Callable[[Tensor], Tensor],
    kernel: Value,
    options: object,
    *,
    filters: int | None,
) -> Tensor:
    """Add bias, apply the activation, and requantize to the result.

    Args:
        sums: the contraction of the image with given weights.
        filters: number of all-ones filters that sum the image; None for one per filter.
    """
    limits = limits_of(options.FusedActivationFunction())  # type: ignore[attr-defined]
    if not call.quantized:
        real = sums(as_tensor(kernel))
        return limited(O.add(real, call.tensor(2)) if call.has(2) else real, limits)
    if isinstance(kernel, Tensor) or kernel.dtype != np.int8:
        raise Unsupported(f"weights of {call.operand(1).dtype}, or computed ones")
    kernel, point = _centered(call, kernel)
    total = sums(as_tensor(kernel))
    if point:
        ones = np.ones((*kernel.shape[:-1], filters or kernel.shape[-1]), np.int8)
        total = O.sub(total, O.mul(sums(as_tensor(ones)), point))
    total = O.add(total, as_tensor(_bias(call, kernel, point)))
    y = call.result_scale
    low, high = integer_limits(limits, y)
    # TensorFlow Lite 2.17 and later round once in fully connected layers, twice in convolutions.
    rounding = "single" if call.operator.name == "FULLY_CONNECTED" else "double"
    return O.requantize(
        total, _factors(call), zero_point=y.zero_point, low=low, high=high, rounding=rounding
    )


def _centered(call: Call, kernel: Array) -> tuple[Array, int]:
    """Weights minus their zero point if that fits int8; else unchanged, with the zero point."""
    points = call.scales(1).zero_points
    if (points != points[0]).any():
        raise Unsupported("weights with several zero points")
    point = int(points[0])
    centered = kernel.astype(np.int32) - point
    if centered.size and (centered.min() < -128 or centered.max() > 127):
        return kernel, point
    return centered.astype(np.int8), 0


def _bias(call: Call, kernel: Array, point: int) -> Array:
    """The bias minus the image's zero point times the sum of each filter; wraps in int32."""
    filters = kernel.shape[-1]
    sums = (kernel.astype(np.int64) - point).reshape(-1, filters).sum(axis=0)
    bias = call.array(2).reshape(-1) if call.has(2) else np.zeros(filters, np.int32)
    if bias.dtype != np.int32 or bias.size != filters:
        raise Unsupported(f"a bias of {bias.size} {bias.dtype} for {filters} filters")
    folded: Array = bias.astype(np.int64) - call.scale(0).zero_point * sums
    return folded.astype(np.int32)


def _factors(call: Call) -> float | Array:
    """Rescaling factors from accumulators to the result: one, or one per filter."""
    found = call.scales(1)
    x, y = call.scale(0).scale, call.result_scale.scale
    factors: Array = x * found.scales.astype(np.float64) / y
    if len(factors) > 1:
        if found.axis != (3 if call.operator.name == "DEPTHWISE_CONV_2D" else 0):
            raise Unsupported(f"scales along dimension {found.axis} of the weights")
        return factors
    if call.operator.name == "FULLY_CONNECTED":  # its product of scales is rounded to float32
        return float(np.float32(x) * found.scales[0]) / y
    return float(factors[0])
