# SPDX-License-Identifier: Apache-2.0
"""Pooling of images."""

from __future__ import annotations

import math

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.windows import Window
from xtc.importers.tflite.call import Call, integer_limits, limited, limits_of
from xtc.importers.tflite.load import UNSIGNED
from xtc.importers.tflite.table import reads
from xtc.importers.tflite.windows import images, windows, with_border
from xtc.importers.values import Array, Unsupported, as_tensor


def _prepared(call: Call) -> tuple[Tensor, list[Window], int]:
    options, x = call.options("Pool2DOptions"), call.tensor(0)
    images(x)
    taps = options.FilterHeight(), options.FilterWidth()
    if call.quantized and call.scale(0) != call.result_scale:
        raise Unsupported("operand and result of different scales")
    return x, windows(x.type.sizes[1:3], taps, options), options.FusedActivationFunction()


@reads("MAX_POOL_2D")
def max_pool_2d(call: Call) -> Tensor:
    x, slides, activation = _prepared(call)
    lowest = -math.inf if x.element.is_float else x.element.limits[0]
    taps, stride = _pair(slides, "taps"), _pair(slides, "stride")
    pooled = O.max_pool2d(with_border(x, slides, lowest), taps, stride=stride)
    return _limited(call, pooled, activation)


@reads("AVERAGE_POOL_2D")
def average_pool_2d(call: Call) -> Tensor:
    x, slides, activation = _prepared(call)
    if call.operand(0).is_unsigned:
        return _limited(call, _mean_of_unsigned(x, slides), activation)
    whole = all(slide.taps == slide.size and slide.output == 1 for slide in slides)
    if call.quantized and whole:
        return _limited(call, O.quantized_mean(x, axes=(1, 2)), activation)
    border = tuple((max(a, 0), max(b, 0)) for a, b in (slide.border for slide in slides))
    taps, stride = _pair(slides, "taps"), _pair(slides, "stride")
    pooled = O.avg_pool2d(x, taps, stride=stride, padding=border)
    return _limited(call, pooled, activation)


@reads("L2_POOL_2D")
def l2_pool_2d(call: Call) -> Tensor:
    x, slides, activation = _prepared(call)
    if not x.element.is_float:
        raise Unsupported(f"an image of {x.dtype}")
    border = tuple((max(a, 0), max(b, 0)) for a, b in (slide.border for slide in slides))
    taps, stride = _pair(slides, "taps"), _pair(slides, "stride")
    mean = O.avg_pool2d(O.mul(x, x), taps, stride=stride, padding=border)
    return _limited(call, O.sqrt(mean), activation)


def _mean_of_unsigned(x: Tensor, slides: list[Window]) -> Tensor:
    """Means of uint8, which round halves up, while those of int8 round halves away from zero."""
    taps, stride = _pair(slides, "taps"), _pair(slides, "stride")
    channels = x.type.sizes[3]
    ones = np.ones((*taps, 1, channels), np.int8)
    total = O.conv2d(with_border(x, slides, 0), as_tensor(ones), stride=stride, groups=channels)
    rows, columns = (_counted(slide) for slide in slides)
    counts = (rows[:, None] * columns)[None, :, :, None].astype(np.int32)
    above = as_tensor(UNSIGNED * counts + counts // 2)
    mean = O.trunc_div(O.add(total, above), as_tensor(counts))
    return O.cast(O.sub(mean, UNSIGNED), "int8")


def _counted(slide: Window) -> Array:
    """Number of image elements in each window."""
    starts = np.arange(slide.output) * slide.stride - slide.border[0]
    inside: Array = np.minimum(starts + slide.taps, slide.size) - np.maximum(starts, 0)
    return inside


def _pair(slides: list[Window], name: str) -> tuple[int, int]:
    first, second = (int(getattr(slide, name)) for slide in slides)
    return first, second


def _limited(call: Call, x: Tensor, activation: int) -> Tensor:
    limits = limits_of(activation)
    if not call.quantized or limits == (None, None):
        return limited(x, limits)
    low, high = integer_limits(limits, call.result_scale)
    return O.minimum(O.maximum(x, low), high)
