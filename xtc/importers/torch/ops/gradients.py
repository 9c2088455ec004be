# SPDX-License-Identifier: Apache-2.0
"""Gradients of convolutions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import stacked
from xtc.importers.torch.ops.layers import convolution
from xtc.importers.torch.table import writes
from xtc.importers.values import Unsupported


@dataclass(frozen=True)
class _Windows:
    """Window geometry of a convolution by dimension, and the number of groups."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    groups: int


@writes("convolution_backward")
def convolution_backward(
    gradient: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The requested gradients among those of the image, the weights and the bias."""
    if transposed:
        raise Unsupported("the gradient of a transposed convolution")
    of_image, of_weight, of_bias = output_mask
    windows = _Windows(stride, padding, dilation, groups)
    space = tuple(d for d in range(gradient.type.rank) if d != 1)
    return (
        _of_image(gradient, x, weight, windows) if of_image else None,
        _of_weight(gradient, x, weight, windows) if of_weight else None,
        O.reduce_sum(gradient, axes=space) if of_bias else None,
    )


def _of_image(gradient: Tensor, x: Tensor, weight: Tensor, windows: _Windows) -> Tensor:
    """A transposed convolution, padded by the elements that no window reached."""
    sizes = zip(x.type.sizes[2:], gradient.type.sizes[2:], weight.type.sizes[2:], strict=True)
    missing = [
        size - ((count - 1) * step - 2 * pad + apart * (taps - 1) + 1)
        for (size, count, taps), step, pad, apart in zip(
            sizes, windows.stride, windows.padding, windows.dilation, strict=True
        )
    ]
    geometry = (windows.stride, windows.padding, windows.dilation)
    return convolution(gradient, weight, None, *geometry, True, missing, windows.groups)


def _of_weight(gradient: Tensor, x: Tensor, weight: Tensor, windows: _Windows) -> Tensor:
    """One matmul per tap: of the gradient and the elements that the tap read."""
    border = [(0, 0), (0, 0), *((pad, pad) for pad in windows.padding)]
    image = O.pad(x, border) if any(windows.padding) else x
    counts, taps = gradient.type.sizes[2:], weight.type.sizes[2:]
    left = _by_group(gradient, windows.groups)
    products = []
    for tap in itertools.product(*map(range, taps)):
        starts = [at * apart for at, apart in zip(tap, windows.dilation, strict=True)]
        stops = [
            start + (count - 1) * step + 1
            for start, count, step in zip(starts, counts, windows.stride, strict=True)
        ]
        seen = O.slice(
            image, (0, 0, *starts), (*image.type.sizes[:2], *stops), (1, 1, *windows.stride)
        )
        products.append(O.matmul(left, _by_group(seen, windows.groups), transpose_b=True))
    shape = (*weight.type.sizes[:2], *taps)
    return O.reshape(stacked(products, 3), shape)


def _by_group(x: Tensor, groups: int) -> Tensor:
    """Reorder (images, channels, ...) to (groups, channels per group, positions of all images)."""
    channels = x.type.sizes[1]
    axes = (1, 0, *range(2, x.type.rank))
    return O.reshape(O.transpose(x, axes=axes), (groups, channels // groups, -1))
