# SPDX-License-Identifier: Apache-2.0
"""Interpolated reads from images, antialiased resizing, and col2im."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.folding import folded
from xtc.importers.compositions.movement import constant
from xtc.importers.compositions.sampling import grid_sampled
from xtc.importers.torch.table import writes
from xtc.importers.values import Array


@writes("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(x: Tensor, grid: Tensor, mode: int, padding: int, corners: bool) -> Tensor:
    kind = ("linear", "nearest", "cubic")[mode]
    outside = ("zeros", "edge" if kind == "cubic" else "border", "reflection")[padding]
    return grid_sampled(x, grid, kind, outside, corners)


@writes("_upsample_bilinear2d_aa")
def upsample_bilinear_antialias(
    x: Tensor, sizes: Sequence[int], align: bool, *scales: float | None
) -> Tensor:
    return _antialiased(x, sizes, align, scales, 1, lambda x: np.maximum(1 - x, 0))


@writes("_upsample_bicubic2d_aa")
def upsample_bicubic_antialias(
    x: Tensor, sizes: Sequence[int], align: bool, *scales: float | None
) -> Tensor:
    return _antialiased(x, sizes, align, scales, 2, _keys)


def _keys(x: Array) -> Array:
    """R. Keys, "Cubic convolution interpolation", 1981, with a = -0.5."""
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    weights: Array = np.where(x < 1, near, np.where(x < 2, far, 0))
    return weights


def _antialiased(
    x: Tensor,
    sizes: Sequence[int],
    align: bool,
    scales: Sequence[float | None],
    reach: int,
    kernel: Callable[[Array], Array],
) -> Tensor:
    """Resize each axis with a kernel stretched by the reduction factor."""
    for n, wanted in enumerate(sizes):
        d, scale = n + 2, scales[n] if n < len(scales) else None
        size = x.type.sizes[d]
        step = (size - 1) / max(wanted - 1, 1) if align else 1 / scale if scale else size / wanted
        stretch = max(step, 1.0)
        centers = step * (np.arange(wanted) + 0.5)
        starts = np.maximum((centers - reach * stretch + 0.5).astype(np.int64), 0)
        stops = np.minimum((centers + reach * stretch + 0.5).astype(np.int64), size)
        taps = starts + np.arange((stops - starts).max())[:, None]
        weights = kernel(np.abs(taps - centers + 0.5) / stretch) * (taps < stops)
        weights = (weights / weights.sum(axis=0)).astype(x.element.numpy)
        x = O.resample(x, constant(np.minimum(taps, size - 1)), constant(weights), axis=d)
    return x


@writes("col2im")
def col2im(
    x: Tensor,
    sizes: Sequence[int],
    taps: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    strides: Sequence[int],
) -> Tensor:
    single = x.type.rank == 2
    columns = O.reshape(x, (1, *x.type.sizes)) if single else x
    borders = [(pad, pad) for pad in pads]
    result = folded(columns, sizes, taps, strides, dilations, borders)
    return O.reshape(result, result.type.sizes[1:]) if single else result
