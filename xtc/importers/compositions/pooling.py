# SPDX-License-Identifier: Apache-2.0
"""Pooling in one, two and three dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import padded
from xtc.importers.compositions.windows import Window
from xtc.importers.values import Unsupported, as_tensor

Pool = Callable[..., Tensor]
Order = Literal["C", "F"]


def with_border(x: Tensor, slides: Sequence[Window], value: float) -> Tensor:
    """Pad (n, ..., c) with the border that the windows need."""
    border = [(0, 0), *(slide.border for slide in slides), (0, 0)]
    return as_tensor(padded(x, border, "constant", value))


def pooled(x: Tensor, slides: Sequence[Window], write: Pool) -> Tensor:
    """Pool padded (n, ..., c): the last two spatial dimensions first, then a leading third."""
    n, *sizes, channels = x.type.sizes
    if len(sizes) == 1:
        image = O.reshape(x, (n, 1, *sizes, channels))
        result = _pool2d(image, None, slides[0], write)
        return O.reshape(result, (n, slides[0].output, channels))
    if len(sizes) == 2:
        return _pool2d(x, slides[0], slides[1], write)
    flat = O.reshape(x, (n * sizes[0], *sizes[1:], channels))
    planes = _pool2d(flat, slides[1], slides[2], write)
    each = slides[1].output * slides[2].output
    column = _pool2d(O.reshape(planes, (n, sizes[0], each, channels)), slides[0], None, write)
    return O.reshape(column, (n, *(slide.output for slide in slides), channels))


def _pool2d(x: Tensor, rows: Window | None, columns: Window | None, write: Pool) -> Tensor:
    def pair(name: str) -> tuple[int, int]:
        first, second = (1 if d is None else int(getattr(d, name)) for d in (rows, columns))
        return first, second

    return write(x, pair("taps"), stride=pair("stride"), dilation=pair("dilation"))


def _tap(
    frame: Tensor, slides: Sequence[Window], tap: Sequence[int], sizes: Sequence[int], order: Order
) -> tuple[Tensor, Tensor]:
    """The elements that one tap reads at each window position, and their indices in the image."""
    starts = [0, 0, *(t * slide.dilation for t, slide in zip(tap, slides, strict=True))]
    stops = [*frame.type.sizes[:2]]
    stops += [
        start + (slide.output - 1) * slide.stride + 1
        for start, slide in zip(starts[2:], slides, strict=True)
    ]
    steps = [1, 1, *(slide.stride for slide in slides)]
    axes = [
        np.clip(np.arange(slide.output) * slide.stride + start - slide.before, 0, slide.size - 1)
        for start, slide in zip(starts[2:], slides, strict=True)
    ]
    positions = np.ravel_multi_index(
        tuple(np.meshgrid(*axes, indexing="ij")), tuple(sizes), order=order
    )
    positions = positions[None, None].astype(np.int64)
    where = O.tensor(positions.shape, "int64", const=positions)
    return O.slice(frame, starts, stops, steps), where


def max_with_indices(x: Tensor, slides: Sequence[Window], order: Order = "C") -> list[Tensor]:
    """Maximum over the taps, and the index of the maximum in the whole image."""
    lowest = -math.inf if x.element.is_float else x.element.limits[0]
    sizes = x.type.sizes
    border = [(0, 0), (0, 0), *(slide.border for slide in slides)]
    frame = as_tensor(padded(x, border, "constant", lowest))
    if math.prod(slide.taps for slide in slides) > 1024:
        raise Unsupported("indices of windows of more than 1024 taps")
    best: Tensor | None = None
    position: Tensor | None = None
    for tap in itertools.product(*(range(slide.taps) for slide in slides)):
        values, positions = _tap(frame, slides, tap, sizes[2:], order)
        if best is None or position is None:
            best, position = values, O.expand(positions, values.type.sizes)
        else:
            larger = O.greater(values, best)
            position, best = O.where(larger, positions, position), O.maximum(best, values)
    planes = np.arange(sizes[0] * sizes[1]).reshape(sizes[0], sizes[1], *[1] * len(slides))
    first = O.tensor(planes.shape, "int64", const=planes * math.prod(sizes[2:]))
    if best is None or position is None:
        raise Unsupported("windows without taps")
    return [best, O.add(position, first)]
