# SPDX-License-Identifier: Apache-2.0
"""Convolutions in one, two and three dimensions, channels last."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import padded, taken
from xtc.importers.compositions.windows import Window
from xtc.importers.values import Value, as_tensor, shape_of


def convolved(x: Tensor, kernel: Tensor, slides: Sequence[Window], groups: int) -> Tensor:
    """Convolve (n, ..., c) with filters (taps..., c / groups, f), in one to three dimensions."""
    kernel, slides = _without_padded_taps(kernel, slides)
    strides = [slide.stride for slide in slides]
    dilations = [slide.dilation for slide in slides]
    x, border = _without_crops(x, [slide.border for slide in slides])
    if len(slides) == 3:
        return O.conv3d(
            x, kernel, stride=strides, padding=border, dilation=dilations, groups=groups
        )
    if len(slides) == 1:
        n, width, channels = x.type.sizes
        x, kernel = O.reshape(x, (n, 1, width, channels)), O.reshape(kernel, (1, *kernel.shape))
        strides, dilations, border = [1, *strides], [1, *dilations], [(0, 0), *border]
    result = O.conv2d(
        x,
        kernel,
        stride=(strides[0], strides[1]),
        padding=(border[0], border[1]),
        dilation=(dilations[0], dilations[1]),
        groups=groups,
    )
    if len(slides) == 1:
        n, _, width, filters = result.type.sizes
        result = O.reshape(result, (n, width, filters))
    return result


def _without_crops(
    x: Tensor, border: list[tuple[int, int]]
) -> tuple[Tensor, list[tuple[int, int]]]:
    """Apply the negative ends of a border, which crop, and keep the others."""
    if all(min(ends) >= 0 for ends in border):
        return x, border
    crops = [(min(before, 0), min(after, 0)) for before, after in border]
    kept = [(max(before, 0), max(after, 0)) for before, after in border]
    left = [size + sum(ends) for size, ends in zip(x.type.sizes[1:-1], crops, strict=True)]
    if min(left) <= 0:  # the windows see nothing but padding
        crops, kept = border, [(0, 0)] * len(border)
    return as_tensor(padded(x, [(0, 0), *crops, (0, 0)], "constant", 0)), kept


def _without_padded_taps(
    kernel: Tensor, slides: Sequence[Window]
) -> tuple[Tensor, Sequence[Window]]:
    """Remove the taps that read only padding: a 3 x 3 filter on one element keeps one tap."""
    taps = [slide.hits() for slide in slides]
    if [len(hits) for hits in taps] == [slide.taps for slide in slides]:
        return kernel, slides
    whole = [range(size) for size in kernel.type.sizes[len(taps) :]]
    kept = as_tensor(taken(kernel, [*taps, *whole]))
    return kept, [slide.of(hits) for slide, hits in zip(slides, taps, strict=True)]


def reversed_filters(filters: Value, groups: int) -> Tensor:
    """Reorder filters (c, f / groups, taps...) to (taps..., c / groups, f), with reversed taps."""
    channels, each, *taps = shape_of(filters)
    rank = len(taps)
    split = (groups, channels // groups, each, *taps)
    order = (*range(3, 3 + rank), 1, 0, 2)
    shape = (*taps, channels // groups, groups * each)
    if isinstance(filters, np.ndarray):
        reversed_filters = np.flip(filters, axis=tuple(range(2, 2 + rank))).reshape(split)
        return as_tensor(np.ascontiguousarray(reversed_filters.transpose(order).reshape(shape)))
    turned_axes = tuple(d for d in range(2, 2 + rank) if math.prod(taps[d - 2 : d - 1]) > 1)
    value = O.flip(filters, axes=turned_axes) if turned_axes else filters
    return O.reshape(O.transpose(O.reshape(value, split), axes=order), shape)
