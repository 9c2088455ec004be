# SPDX-License-Identifier: Apache-2.0
"""Sum the columns of sliding windows into an image, the adjoint of extracting them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import padded, part
from xtc.importers.values import Unsupported, as_tensor

MOST_TAPS = 1024


def folded(
    x: Tensor,
    sizes: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[tuple[int, int]],
) -> Tensor:
    """Fold (n, channels * taps, positions) into (n, channels, *sizes); overlaps are summed."""
    count = 1
    for size in taps:
        count *= size
    if count > MOST_TAPS:
        raise Unsupported(f"windows of {count} taps")
    positions = [
        (size + before + after - dilation * (tap - 1) - 1) // stride + 1
        for size, tap, stride, dilation, (before, after) in zip(
            sizes, taps, strides, dilations, pads, strict=True
        )
    ]
    n, channels = x.type.sizes[0], x.type.sizes[1] // count
    whole = O.reshape(x, (n, channels, count, *positions))
    total = None
    for number, tap in enumerate(itertools.product(*map(range, taps))):
        piece = O.reshape(part(whole, 2, number, number + 1), (n, channels, *positions))
        placed = _placed(piece, tap, sizes, strides, dilations, pads)
        total = placed if total is None else O.add(total, placed)
    if total is None:
        raise Unsupported("windows without taps")
    return total


def _placed(
    piece: Tensor,
    tap: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[tuple[int, int]],
) -> Tensor:
    """Scatter the elements of one tap to their positions in the image; zeros elsewhere."""
    if any(stride > 1 for stride in strides):
        piece = O.dilate(piece, (1, 1, *strides))
    border = [(0, 0), (0, 0)]
    for number, size, dilation, (before, _), extent in zip(
        tap, sizes, dilations, pads, piece.type.sizes[2:], strict=True
    ):
        start = number * dilation - before
        border.append((start, size - start - extent))
    return as_tensor(padded(piece, border, "constant", 0.0))
