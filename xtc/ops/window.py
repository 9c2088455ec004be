# SPDX-License-Identifier: Apache-2.0
"""Sliding windows over the height and width of an image (n, h, w, c): sizes and checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xtc.core.errors import UserError, shown
from xtc.core.types import TensorType, tensor_type
from xtc.graph.operator import Array
from xtc.ops.attributes import check_choice, check_each, check_ints
from xtc.ops.border import Border

Pair = tuple[int, int]
NO_BORDER = ((0, 0), (0, 0))
_ENDS = ("(front, back)", "(top, bottom)", "(left, right)")


@dataclass(frozen=True)
class Slide:
    """A window of `window` taps, `dilation` apart, moved in steps of `stride` along one dimension.

    The dimension has `size` elements, with `before` and `after` elements of padding at its ends.
    """

    size: int
    window: int
    stride: int
    dilation: int
    before: int = 0
    after: int = 0

    @property
    def extent(self) -> int:
        """The distance from the first to the last tap, both included."""
        return (self.window - 1) * self.dilation + 1

    @property
    def padded(self) -> int:
        """The number of elements with padding."""
        return self.before + self.size + self.after

    @property
    def output(self) -> int:
        """The number of window positions in the padded dimension; below 1 if it does not fit."""
        return (self.padded - self.extent) // self.stride + 1

    def counts(self) -> Array:
        """The number of taps on elements rather than padding, at each window position."""
        starts = np.arange(self.output) * self.stride - self.before
        first = np.maximum(-(starts // self.dilation), 0)
        last = np.minimum((self.size - 1 - starts) // self.dilation, self.window - 1)
        hits: Array = np.maximum(last - first + 1, 0)
        return hits


def image_sizes(op: str, type: TensorType) -> Pair:
    """Height and width of an image (n, h, w, c). Raises UserError for another rank."""
    if type.rank != 4:
        raise UserError(
            f"the image of {op} has rank {type.rank}, not 4",
            notes=["its dimensions are batch, height, width, channel"],
        )
    _, height, width, _ = type.shape
    return int(height), int(width)


def image_type(type: TensorType, slides: Sequence[Slide], channels: int) -> TensorType:
    """The result type: one element per window position and channel.

    Raises UserError if it or the padded image is too large for a tensor.
    """
    batch, *_, depth = type.shape
    tensor_type((batch, *(slide.padded for slide in slides), depth), type.element.name)
    shape = (batch, *(slide.output for slide in slides), channels)
    return tensor_type(shape, type.element.name)


def image_border(padding: Border) -> Border:
    """Padding of height and width as a border of the whole image."""
    return ((0, 0), *padding, (0, 0))


def make_slides(
    op: str, sizes: Pair, window: Pair, stride: object, dilation: object, padding: object
) -> tuple[Slide, Slide]:
    """One slide for height and one for width, from canonical attributes, all of them checked."""
    strides = check_ints(op, "stride", stride, count=2, minimum=1)
    dilations = check_ints(op, "dilation", dilation, count=2, minimum=1)
    borders = _check_border(op, padding, 2)
    height, width = (
        Slide(sizes[d], window[d], strides[d], dilations[d], *borders[d]) for d in (0, 1)
    )
    for what, slide in (("height", height), ("width", width)):
        if slide.output < 1:
            raise UserError(
                f"the window of {op} spans {slide.extent} of the {what}, which has {slide.padded}",
                notes=["dilation widens the window, padding widens the image"],
            )
    return height, width


def canonical_padding(
    op: str,
    padding: object,
    sizes: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> Border:
    """(before, after) for each dimension of a window, such as height and width, from a user's
    `padding`.

    `padding` is one number, one for each dimension, both ends of each, "valid" for none, or "same"
    for ceil(size / stride) positions, the odd element at the end (ONNX calls it SAME_UPPER).
    """
    rank = len(window)
    if isinstance(padding, str):
        if check_choice(op, "padding", padding, ("same", "valid")) == "valid":
            return ((0, 0),) * rank
        slides = (Slide(sizes[d], window[d], stride[d], dilation[d]) for d in range(rank))
        return tuple(_same(slide) for slide in slides)
    if isinstance(padding, Sequence) and any(isinstance(entry, Sequence) for entry in padding):
        return _check_border(op, padding, rank)
    both = check_each(op, "padding", padding, count=rank, minimum=0)
    return tuple((number, number) for number in both)


def _same(slide: Slide) -> Pair:
    positions = -(-slide.size // slide.stride)
    total = max((positions - 1) * slide.stride + slide.extent - slide.size, 0)
    return total // 2, total - total // 2


def _check_border(op: str, padding: object, rank: int) -> Border:
    """Check that `padding` has both ends of each dimension."""
    if isinstance(padding, str) or not isinstance(padding, Sequence) or len(padding) != rank:
        ends = ", ".join(_ENDS[-rank:])
        raise UserError(f"padding of {op} is {shown(padding)}, not ({ends})")
    pairs = (
        check_ints(op, f"padding[{d}]", entry, count=2, minimum=0)
        for d, entry in enumerate(padding)
    )
    return tuple((before, after) for before, after in pairs)


def window_attributes(stride: Pair, dilation: Pair) -> tuple[str, str]:
    """The attributes of linalg's convolutions and poolings."""
    return _pair_text("strides", stride), _pair_text("dilations", dilation)


def window_indices(stride: Pair, dilation: Pair) -> tuple[str, str]:
    """Row and column of the image that a window at (h, w) reads with its tap (r, s)."""
    rows, columns = (
        f"{position} * {step} + {tap} * {apart}"
        for position, tap, step, apart in zip("hw", "rs", stride, dilation, strict=True)
    )
    return rows, columns


def _pair_text(name: str, pair: Pair) -> str:
    return f"{name} = dense<[{pair[0]}, {pair[1]}]> : tensor<2xi64>"


def windows_of(padded: Array, slides: Sequence[Slide]) -> Array:
    """A view (n, height, width, c, height taps, width taps) of a padded image."""
    height, width = slides
    extents = (height.extent, width.extent)
    every = np.lib.stride_tricks.sliding_window_view(padded, extents, axis=(1, 2))
    moved = every[:, :: height.stride, :: width.stride]
    return moved[..., :: height.dilation, :: width.dilation]
