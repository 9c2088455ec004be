# SPDX-License-Identifier: Apache-2.0
"""Reads from images at positions computed at run time."""

from __future__ import annotations

import itertools
import math

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.folding import folded
from xtc.importers.compositions.movement import constant, expanded, part, stacked
from xtc.importers.compositions.sampling import grid_sampled, sampled
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.windows import windows
from xtc.importers.onnx.table import reads
from xtc.importers.values import Unsupported


@reads("GridSample", 16, 20, 22)
def grid_sample(call: Call) -> Tensor:
    """Read the neighbors of each position and interpolate."""
    x, grid = call.tensor(0), call.tensor(1)
    mode = str(call.attribute("mode", "linear"))
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    outside = call.choice("padding_mode", "zeros", "zeros", "border", "reflection")
    if mode not in ("linear", "nearest", "cubic") or grid.type.sizes[-1] != x.type.rank - 2:
        raise Unsupported(f"mode={mode!r} of a grid of shape {grid.type.sizes}")
    return grid_sampled(x, grid, mode, outside, bool(call.attribute("align_corners", 0)))


@reads("Col2Im", 18)
def col2im(call: Call) -> Tensor:
    sizes, taps = call.ints(1), call.ints(2)
    count = len(sizes)
    strides, dilations = (
        [int(n) for n in call.attribute(name, [1] * count)] for name in ("strides", "dilations")
    )
    pads = [int(n) for n in call.attribute("pads", [0] * (2 * count))]
    borders = list(zip(pads[:count], pads[count:], strict=True))
    return folded(call.tensor(0), sizes, taps, strides, dilations, borders)


@reads("DeformConv", 19, 22)
def deform_conv(call: Call) -> Tensor:
    """A matmul of the weights and the elements that the taps read at their offsets."""
    x, filters, offsets = call.tensor(0), call.tensor(1), call.tensor(2)
    if x.type.rank != 4:
        raise Unsupported(f"an image of rank {x.type.rank}")
    n, channels, *_ = x.type.sizes
    slides = windows(call, x.type.sizes[2:], filters.type.sizes[2:])
    taps = list(itertools.product(*(range(slide.taps) for slide in slides)))
    groups, shared = int(call.attribute("group", 1)), int(call.attribute("offset_group", 1))
    extents = [slide.output for slide in slides]
    columns = []
    for number, tap in enumerate(taps):
        pieces = []
        for group in range(shared):
            first = (group * len(taps) + number) * 2
            axes = []
            for d, slide in enumerate(slides):
                start = np.arange(slide.output) * slide.stride - slide.before
                start = start + tap[d] * slide.dilation
                shape = [1, 1, *(slide.output if e == d else 1 for e in range(2))]
                plain = constant(start.reshape(shape).astype(x.element.numpy))
                axes.append(O.add(part(offsets, 1, first + d, first + d + 1), plain))
            width = channels // shared
            piece = sampled(part(x, 1, group * width, (group + 1) * width), axes, "linear")
            if call.has(4):
                at = group * len(taps) + number
                piece = O.mul(piece, part(call.tensor(4), 1, at, at + 1))
            pieces.append(piece)
        columns.append(O.concat(*pieces, axis=1) if len(pieces) > 1 else pieces[0])
    depth = channels // groups * len(taps)
    rows = O.reshape(stacked(columns, 2), (n, groups, depth, math.prod(extents)))
    weights = O.reshape(filters, (1, groups, filters.type.sizes[0] // groups, depth))
    result = O.reshape(O.matmul(weights, rows), (n, filters.type.sizes[0], *extents))
    if call.has(3):
        result = O.add(result, O.reshape(call.tensor(3), (1, filters.type.sizes[0], 1, 1)))
    return result


@reads("RoiAlign", 10, 16, 22)
def roi_align(call: Call) -> Tensor:
    """Interpolate a fixed number of samples in each bin of each region, and reduce them."""
    x, regions, batches = (call.tensor(n) for n in range(3))
    count = int(call.attribute("sampling_ratio", 0))
    if count < 1:
        raise Unsupported("sampling_ratio=0, an adaptive number of samples")
    default = "half_pixel" if call.version >= 16 else "output_half_pixel"
    half = str(call.attribute("coordinate_transformation_mode", default)) == "half_pixel"
    scale = float(call.attribute("spatial_scale", 1.0))
    sizes = [int(call.attribute(f"output_{name}", 1)) for name in ("height", "width")]
    axes = [
        _samples(regions, column, size, count, scale, half)
        for column, size in zip((1, 0), sizes, strict=True)
    ]
    image = O.transpose(x, axes=(0, 2, 3, 1))
    largest = call.choice("mode", "avg", "avg", "max") == "max"
    value = _between(image, axes, O.cast(batches, "int64"), largest)
    n, channels = regions.type.sizes[0], x.type.sizes[1]
    split = O.reshape(value, (n, sizes[0], count, sizes[1], count, channels))
    reduce = O.reduce_max if largest else O.reduce_mean
    return O.transpose(reduce(split, axes=(2, 4)), axes=(0, 3, 1, 2))


def _samples(
    regions: Tensor, column: int, size: int, count: int, scale: float, half: bool
) -> Tensor:
    """Positions in pixels along one dimension, (regions, size * count)."""
    start, stop = (
        O.sub(O.mul(part(regions, 1, n, n + 1), scale), 0.5 if half else 0.0)
        for n in (column, column + 2)
    )
    extent = O.sub(stop, start)
    extent = extent if half else O.maximum(extent, 1.0)
    steps = (np.arange(size * count) + 0.5) / (size * count)
    return O.add(start, O.mul(extent, constant(steps[None].astype(regions.element.numpy))))


def _between(image: Tensor, axes: list[Tensor], batches: Tensor, largest: bool) -> Tensor:
    """Sample (n, h, w, c) at (regions, rows) x (regions, columns): (regions, rows, columns, c)."""
    regions = batches.type.size
    shape = (regions, axes[0].type.sizes[1], axes[1].type.sizes[1])
    first = expanded(O.reshape(batches, (regions, 1, 1, 1)), (*shape, 1))
    pairs = []
    for d, axis in enumerate(axes):
        size = image.type.sizes[1 + d]
        wide = (regions, -1, 1, 1) if d == 0 else (regions, 1, -1, 1)
        inside = O.minimum(O.greater_equal(axis, -1.0), O.less_equal(axis, float(size)))
        position = O.minimum(O.maximum(axis, 0.0), float(size - 1))
        low = O.floor(position)
        high = O.minimum(O.add(low, 1.0), float(size - 1))
        part_high = O.sub(position, low)
        taps = ((low, O.sub(1.0, part_high)), (high, part_high))
        pairs.append(
            [
                (
                    expanded(O.reshape(O.cast(at, "int64"), wide), (*shape, 1)),
                    O.reshape(O.where(inside, weight, 0.0), wide),
                )
                for at, weight in taps
            ]
        )
    total = None
    for (row, upper), (column, left) in itertools.product(*pairs):
        found = O.gather_nd(image, O.concat(first, row, column, axis=3))
        weighted = O.mul(O.mul(found, upper), left)
        if total is None:
            total = weighted
        else:
            total = O.maximum(total, weighted) if largest else O.add(total, weighted)
    if total is None:
        raise Unsupported("no positions")
    return total
