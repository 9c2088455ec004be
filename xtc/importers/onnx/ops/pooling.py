# SPDX-License-Identifier: Apache-2.0
"""Pooling in one, two and three dimensions."""

from __future__ import annotations

import functools
import math

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import padded
from xtc.importers.compositions.pooling import max_with_indices, pooled, with_border
from xtc.importers.compositions.windows import Window, channels_first, channels_last
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.windows import windows
from xtc.importers.onnx.table import reads
from xtc.importers.values import Unsupported, as_tensor


def _windows(call: Call) -> list[Window]:
    sizes = call.shape()[2:]
    taps = [int(size) for size in call.required("kernel_shape")]
    if len(taps) != len(sizes) or not 1 <= len(sizes) <= 3:
        raise Unsupported(f"kernel_shape {taps} of an image of rank {call.rank()}")
    return windows(call, sizes, taps)


@reads("MaxPool", 1, 8, 10, 11, 12, 22)
def max_pool(call: Call) -> list[Tensor]:
    x, slides = call.tensor(0), _windows(call)
    if call.is_used(1):
        return [*max_with_indices(x, slides, "F" if call.attribute("storage_order", 0) else "C")]
    lowest = -math.inf if x.element.is_float else x.element.limits[0]
    frame = with_border(channels_last(x), slides, lowest)
    return [channels_first(pooled(frame, slides, O.max_pool2d))]


@reads("AveragePool", 1, 7, 10, 11, 19, 22)
def average_pool(call: Call) -> Tensor:
    x, slides = call.tensor(0), _windows(call)
    mean = pooled(with_border(channels_last(x), slides, 0), slides, O.avg_pool2d)
    padding = bool(call.attribute("count_include_pad", 0))
    counts = [slide.counts(padding=padding) for slide in slides]
    taps = math.prod(slide.taps for slide in slides)
    hits = functools.reduce(np.multiply.outer, counts)
    if (hits != taps).any():
        factor = (taps / hits)[None, ..., None].astype(x.element.numpy)
        mean = O.mul(mean, O.tensor(factor.shape, x.dtype, const=factor))
    return channels_first(mean)


@reads("LpPool", 2, 11, 18, 22)
def lp_pool(call: Call) -> Tensor:
    x, slides, p = call.tensor(0), _windows(call), int(call.attribute("p", 2))
    size = O.abs(x)
    powers = O.mul(x, x) if p == 2 else size if p == 1 else O.pow(size, float(p))
    mean = pooled(with_border(channels_last(powers), slides, 0), slides, O.avg_pool2d)
    total = O.mul(mean, float(math.prod(slide.taps for slide in slides)))
    root = O.sqrt(total) if p == 2 else total if p == 1 else O.pow(total, 1 / p)
    return channels_first(root)


def _image(call: Call) -> tuple[Tensor, tuple[int, ...]]:
    x = call.tensor(0)
    return x, tuple(range(2, x.type.rank))


@reads("GlobalAveragePool", 1, 22)
def global_average_pool(call: Call) -> Tensor:
    x, axes = _image(call)
    return O.reduce_mean(x, axes=axes, keepdims=True)


@reads("GlobalMaxPool", 1, 22)
def global_max_pool(call: Call) -> Tensor:
    x, axes = _image(call)
    return O.reduce_max(x, axes=axes, keepdims=True)


@reads("GlobalLpPool", 2, 22)
def global_lp_pool(call: Call) -> Tensor:
    x, axes = _image(call)
    p = int(call.attribute("p", 2))
    if p == 2:
        return O.sqrt(O.reduce_sum(O.mul(x, x), axes=axes, keepdims=True))
    return O.pow(O.reduce_sum(O.pow(O.abs(x), float(p)), axes=axes, keepdims=True), 1 / p)


@reads("MaxUnpool", 9, 11, 22)
def max_unpool(call: Call) -> Tensor:
    x, indices = call.tensor(0), call.tensor(1)
    slides = _unpooled(call)
    batch = call.shape()[:2]
    natural = (*batch, *slides)
    zeros = O.tensor(
        (math.prod(natural),), x.dtype, const=np.zeros(math.prod(natural), x.element.numpy)
    )
    flat = (x.type.size,)
    spread = O.scatter_elements(zeros, O.reshape(indices, flat), O.reshape(x, flat), axis=0)
    result = O.reshape(spread, natural)
    if call.has(2):
        wanted = call.ints(2)
        border = [(0, new - old) for new, old in zip(wanted, natural, strict=True)]
        return as_tensor(padded(result, border, "constant", 0))
    return result


def _unpooled(call: Call) -> list[int]:
    """Sizes of the image before pooling."""
    taps = [int(size) for size in call.required("kernel_shape")]
    count = len(taps)
    strides = [int(step) for step in call.attribute("strides", [1] * count)]
    pads = [int(pad) for pad in call.attribute("pads", [0] * (2 * count))]
    return [
        (size - 1) * strides[d] + taps[d] - pads[d] - pads[d + count]
        for d, size in enumerate(call.shape()[2:])
    ]
