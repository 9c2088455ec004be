# SPDX-License-Identifier: Apache-2.0
"""Matmuls, convolutions, pooling."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.convolution import convolved
from xtc.importers.compositions.movement import constant, part
from xtc.importers.compositions.pooling import max_with_indices, pooled, with_border
from xtc.importers.compositions.transposed_convolution import Spread, spread
from xtc.importers.compositions.windows import (
    Window,
    channels_first,
    channels_last,
    transposed,
    window_of,
)
from xtc.importers.torch.ops.arithmetic import operand, result_type
from xtc.importers.torch.ops.movement import unsqueeze
from xtc.importers.torch.table import OnlyFirst, writes
from xtc.importers.values import Unsupported
from xtc.ops.transpose import Transpose


@writes("mm", "bmm", "matmul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    return operand(_product(a, b), result_type())


def _product(a: Tensor, b: Tensor) -> Tensor:
    """A matmul; a transposed weight is read in place instead of being copied."""
    node = b.producer
    if node is not None and isinstance(node.op, Transpose) and node.inputs[0].const is not None:
        swapped = (*range(b.type.rank - 2), b.type.rank - 1, b.type.rank - 2)
        if node.op.axes == swapped:
            return O.matmul(a, node.inputs[0], transpose_b=True)
    return O.matmul(a, b)


@writes("mv")
def mv(a: Tensor, x: Tensor) -> Tensor:
    return O.gemv(a, x)


@writes("dot")
def dot(a: Tensor, b: Tensor) -> Tensor:
    return O.reduce_sum(O.mul(a, b))


@writes("addmm", "baddbmm")
def addmm(c: Tensor, a: Tensor, b: Tensor, beta: float = 1, alpha: float = 1) -> Tensor:
    product = _product(a, b)
    product = product if alpha == 1 else O.mul(product, alpha)
    return O.add(product, c if beta == 1 else O.mul(c, beta))


@writes("linear")
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    flat = O.reshape(x, (-1, x.type.sizes[-1]))
    product = O.matmul(flat, weight, transpose_b=True)
    if bias is not None:
        product = O.add(product, bias)
    return O.reshape(product, (*x.type.sizes[:-1], weight.type.sizes[0]))


@writes("convolution", "conv2d")
def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed_: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    rank = weight.type.rank - 2
    strides, pads, dilations = (_each(v, rank) for v in (stride, padding, dilation))
    single = x.type.rank == rank + 1
    image = unsqueeze(x, 0) if single else x
    if transposed_:
        more = _each(output_padding, rank)
        result = _transposed(image, weight, strides, pads, dilations, more, groups)
    else:
        sizes, taps = image.type.sizes[2:], weight.type.sizes[2:]
        slides = [
            window_of(size, tap, step, apart, (pad, pad), "NOTSET", False)
            for size, tap, step, pad, apart in zip(
                sizes, taps, strides, pads, dilations, strict=True
            )
        ]
        kernel = transposed(weight, (*range(2, rank + 2), 1, 0))
        result = convolved(channels_last(image), kernel, slides, groups)
    if bias is not None:
        result = O.add(result, bias)
    first = channels_first(result)
    return O.reshape(first, first.type.sizes[1:]) if single else first


def _each(values: Sequence[int], count: int) -> list[int]:
    return list(values) if len(values) == count else list(values) * count


def _transposed(
    x: Tensor,
    weight: Tensor,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    more: Sequence[int],
    groups: int,
) -> Tensor:
    spreads = [
        Spread(
            size, tap, step, apart, pad, (size - 1) * step + (tap - 1) * apart + 1 - 2 * pad + extra
        )
        for size, tap, step, apart, pad, extra in zip(
            x.type.sizes[2:], weight.type.sizes[2:], strides, dilations, pads, more, strict=True
        )
    ]
    return spread(channels_last(x), weight, spreads, groups)


def _pool_windows(
    x: Tensor, kernel: Sequence[int], stride: Any, padding: Any, dilation: Any, ceil: bool
) -> list[Window]:
    count = len(kernel) if len(kernel) > 1 else x.type.rank - 2
    taps = _each(kernel, count)
    strides = _each(stride, count) if stride else taps
    pads, dilations = _each(padding, count), _each(dilation, count)
    return [
        window_of(size, tap, step, apart, (pad, pad), "NOTSET", ceil)
        for size, tap, step, pad, apart in zip(
            x.type.sizes[-count:], taps, strides, pads, dilations, strict=True
        )
    ]


@writes("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    single = x.type.rank == len(kernel) + 1
    image = unsqueeze(x, 0) if single else x
    slides = _pool_windows(image, kernel, stride, padding, dilation, ceil_mode)
    lowest = -math.inf if x.element.is_float else x.element.limits[0]
    frame = with_border(channels_last(image), slides, lowest)
    values = channels_first(pooled(frame, slides, O.max_pool2d))
    # Indices within each plane; unused ones are removed.
    _, indices = max_with_indices(image, slides)
    indices = O.remainder(indices, math.prod(image.type.sizes[2:]))
    if single:
        values, indices = (O.reshape(y, y.type.sizes[1:]) for y in (values, indices))
    return values, indices


@writes("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    slides = _pool_windows(x, kernel, stride, padding, (1,), ceil_mode)
    mean = pooled(with_border(channels_last(x), slides, 0), slides, O.avg_pool2d)
    taps = math.prod(slide.taps for slide in slides)
    counts = [slide.counts(padding=count_include_pad) for slide in slides]
    hits = functools.reduce(np.multiply.outer, counts)
    if divisor_override is not None:
        hits = np.full_like(hits, divisor_override)
    if (hits != taps).any():
        mean = O.mul(mean, constant((taps / hits)[None, ..., None].astype(x.element.numpy)))
    return channels_first(mean)


@writes("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def adaptive_avg_pool(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """Means of (nearly) equal parts, as a weighted sum along each axis."""
    first = x.type.rank - len(sizes)
    if all(size == 1 for size in sizes):
        return O.reduce_mean(x, axes=tuple(range(first, x.type.rank)), keepdims=True)
    for d, wanted in enumerate(sizes, start=first):
        x = _averaged(x, d, wanted)
    return x


def adaptive_bounds(size: int, wanted: int) -> list[tuple[int, int]]:
    """The start and end of each part of an axis."""
    return [(n * size // wanted, -(-(n + 1) * size // wanted)) for n in range(wanted)]


def _averaged(x: Tensor, d: int, wanted: int) -> Tensor:
    size = x.type.sizes[d]
    if size == wanted:
        return x
    bounds = adaptive_bounds(size, wanted)
    most = max(stop - start for start, stop in bounds)
    taps = np.arange(most)[:, None]
    starts, stops = (np.array(column)[None, :] for column in zip(*bounds, strict=True))
    inside = starts + taps < stops
    weights = (inside / (stops - starts)).astype(x.element.numpy)
    indices = np.where(inside, starts + taps, 0).astype(np.int64)
    return O.resample(x, constant(indices), constant(weights), axis=d)


@writes("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(x: Tensor, sizes: Sequence[int]) -> list[Any]:
    """Maxima of (nearly) equal parts, axis by axis; NaN propagates."""
    for d, wanted in enumerate(sizes, start=x.type.rank - len(sizes)):
        bounds = adaptive_bounds(x.type.sizes[d], wanted)
        parts = [
            O.reduce_max(part(x, d, start, stop), axes=(d,), keepdims=True)
            for start, stop in bounds
        ]
        x = O.concat(*parts, axis=d) if len(parts) > 1 else parts[0]
    return OnlyFirst([x])


@writes("native_dropout")
def dropout(x: Tensor, probability: float, train: bool) -> tuple[Tensor, None]:
    if train and probability:
        raise Unsupported("dropout in training, whose result is random")
    return O.reshape(x, x.type.sizes), None


@writes("upsample_nearest2d", "upsample_nearest2d.vec")
def upsample_nearest(x: Tensor, sizes: Sequence[int] | None, *scales: Any) -> Tensor:
    factors = scales[0] if scales and isinstance(scales[0], list | tuple) else scales
    for d in (2, 3):
        size = x.type.sizes[d]
        scale = float(factors[d - 2] or 0) if len(factors) > d - 2 else 0.0
        wanted = sizes[d - 2] if sizes else int(size * scale)
        step = 1 / scale if scale else size / wanted
        numbers = np.minimum(np.floor(np.arange(wanted) * step), size - 1).astype(np.int64)
        x = O.gather(x, constant(numbers), axis=d)
    return x


@writes("upsample_bilinear2d", "upsample_bilinear2d.vec")
def upsample_bilinear(x: Tensor, sizes: Sequence[int] | None, align: bool, *scales: Any) -> Tensor:
    factors = scales[0] if scales and isinstance(scales[0], list | tuple) else scales
    for d in (2, 3):
        size = x.type.sizes[d]
        scale = float(factors[d - 2] or 0) if len(factors) > d - 2 else 0.0
        wanted = sizes[d - 2] if sizes else int(size * scale)
        positions = np.arange(wanted)
        if align:
            at = positions * ((size - 1) / max(wanted - 1, 1))
        else:
            step = 1 / scale if scale else size / wanted
            at = np.maximum((positions + 0.5) * step - 0.5, 0)
        low = np.floor(at)
        indices = np.clip(np.stack([low, low + 1]), 0, size - 1).astype(np.int64)
        weights = np.stack([1 - (at - low), at - low]).astype(x.element.numpy)
        x = O.resample(x, constant(indices), constant(weights), axis=d)
    return x
