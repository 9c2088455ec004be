# SPDX-License-Identifier: Apache-2.0
"""Sliding windows over the spatial dimensions of images, and conversions of layouts.

Graph operators expect images (n, h, w, c). A one-dimensional signal is an image of height 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.values import Array, Unsupported, Value, as_tensor


@dataclass(frozen=True)
class Window:
    """A window that slides along one dimension.

    Attributes:
        size: size of the dimension.
        taps: taps of the window, `dilation` apart.
        before: padding before the first element.
        after: padding after the last element, as the file declares it.
        output: number of positions.
    """

    size: int
    taps: int
    stride: int
    dilation: int
    before: int
    after: int
    output: int

    @property
    def extent(self) -> int:
        """Elements from the first to the last tap."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def border(self) -> tuple[int, int]:
        """Padding before and after for exactly `output` positions; negative if elements remain."""
        needed = (self.output - 1) * self.stride + self.extent
        return self.before, needed - self.before - self.size

    def hits(self) -> range:
        """The taps from the first to the last that read an element at any position."""
        positions = np.arange(self.output)[:, None] * self.stride - self.before
        taps = positions + np.arange(self.taps) * self.dilation
        met = np.flatnonzero(np.any((taps >= 0) & (taps < self.size), axis=0))
        return range(met[0], met[-1] + 1) if met.size else range(self.taps)

    def of(self, taps: range) -> Window:
        """A window with the same positions and a contiguous subset of the taps."""
        before = self.before - taps.start * self.dilation
        return replace(self, taps=len(taps), before=before)

    def counts(self, *, padding: bool) -> Array:
        """Number of taps at each position that read an element, or declared padding."""
        taps = np.arange(self.output)[:, None] * self.stride + np.arange(self.taps) * self.dilation
        low = 0 if padding else self.before
        high = self.before + self.size + (self.after if padding else 0)
        hits: Array = np.sum((taps >= low) & (taps < high), axis=1)
        return hits


def window_of(
    size: int, taps: int, stride: int, dilation: int, pads: tuple[int, int], how: str, ceil: bool
) -> Window:
    """Construct a window; `how` is ONNX's auto_pad, `ceil` lets the last position overhang."""
    extent = (taps - 1) * dilation + 1
    before, after = pads
    if how == "VALID":
        before = after = 0
    if how.startswith("SAME"):
        output = -(-size // stride)
        total = max((output - 1) * stride + extent - size, 0)
        half = total // 2
        before, after = (half, total - half) if how == "SAME_UPPER" else (total - half, half)
        return Window(size, taps, stride, dilation, before, after, output)
    span = size + before + after - extent
    output = (-(-span // stride) if ceil else span // stride) + 1
    if ceil and (output - 1) * stride >= size + before:
        output -= 1
    if output < 1:
        raise Unsupported(f"a window of {extent} on a dimension of {size}")
    return Window(size, taps, stride, dilation, before, after, output)


def channels_last(value: Value) -> Tensor:
    """Transpose (n, c, ...) to (n, ..., c)."""
    rank = value.ndim if isinstance(value, np.ndarray) else value.type.rank
    return transposed(value, (0, *range(2, rank), 1))


def channels_first(x: Tensor) -> Tensor:
    """Transpose (n, ..., c) to (n, c, ...)."""
    rank = x.type.rank
    return O.transpose(x, axes=(0, rank - 1, *range(1, rank - 1)))


def transposed(value: Value, axes: Sequence[int]) -> Tensor:
    """Permute dimensions, at import if the value is known."""
    if isinstance(value, np.ndarray):
        return as_tensor(np.ascontiguousarray(np.transpose(value, axes)))
    return O.transpose(value, axes=tuple(axes))
