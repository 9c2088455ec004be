# SPDX-License-Identifier: Apache-2.0
"""Interpolated reads from images, at positions computed at run time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, part
from xtc.importers.values import Unsupported

CUBIC = -0.75  # the free parameter of cubic interpolation, as in ONNX and PyTorch


def grid_sampled(x: Tensor, grid: Tensor, mode: str, outside: str, corners: bool) -> Tensor:
    """Sample (n, c, ...) at (n, ..., dimensions) in [-1, 1], the last dimension first.

    `mode` is "linear", "nearest" or "cubic". `outside` is "zeros", "border", "reflection" or
    "edge"; "border" clamps positions, "edge" clamps only the indices of the elements read.
    `corners`: -1 and 1 are the centers of the border elements.
    """
    sizes = x.type.sizes[2:]
    count = len(sizes)
    # The last coordinate belongs to the first dimension.
    axes = [_coordinate(grid, count - 1 - d, sizes[d], corners) for d in range(count)]
    return sampled(x, axes, mode, outside, corners)


def sampled(
    x: Tensor, axes: Sequence[Tensor], mode: str, outside: str = "zeros", corners: bool = True
) -> Tensor:
    """Sample (n, c, ...) at positions in elements, (n, 1, ...) for each dimension."""
    sizes = x.type.sizes[2:]
    if mode == "nearest":
        axes = [O.round(axis) for axis in axes]
    axes = [_limited(axis, n, outside, corners) for axis, n in zip(axes, sizes, strict=True)]
    taps = [_taps(axis, mode) for axis in axes]
    total = None
    for choice in itertools.product(*taps):
        value = _read(x, [position for position, _ in choice], outside, corners)
        for weight in (weight for _, weight in choice if weight is not None):
            value = O.mul(value, weight)
        total = value if total is None else O.add(total, value)
    if total is None:
        raise Unsupported("an image without dimensions")
    return total


def _coordinate(grid: Tensor, column: int, size: int, corners: bool) -> Tensor:
    """Positions in elements along one dimension, (n, 1, ...)."""
    axis = grid.type.rank - 1
    n, *shape = grid.type.sizes[:-1]
    flat = O.reshape(part(grid, axis, column, column + 1), (n, 1, *shape))
    shifted = O.add(flat, 1.0)
    if corners:
        return O.mul(O.mul(shifted, 0.5), float(size - 1))
    return O.mul(O.sub(O.mul(shifted, float(size)), 1.0), 0.5)


def _limited(position: Tensor, size: int, outside: str, corners: bool) -> Tensor:
    """Clamp or reflect positions into the image, as `outside` demands."""
    if outside == "border":
        return O.minimum(O.maximum(position, 0.0), float(size - 1))
    return _reflected(position, size, corners) if outside == "reflection" else position


def _taps(position: Tensor, mode: str) -> list[tuple[Tensor, Tensor | None]]:
    """The neighbors along one dimension, as whole numbers in floats, with their weights."""
    if mode == "nearest":
        return [(position, None)]
    low = O.floor(position)
    t = O.sub(position, low)
    if mode == "linear":
        return [(low, O.sub(1.0, t)), (O.add(low, 1.0), t)]
    s = O.sub(1.0, t)
    weights = [_far(O.add(t, 1.0)), _near(t), _near(s), _far(O.add(s, 1.0))]
    return [(O.add(low, float(n - 1)), weight) for n, weight in enumerate(weights)]


def _near(x: Tensor) -> Tensor:
    """(a + 2) x^3 - (a + 3) x^2 + 1."""
    square = O.mul(x, x)
    return O.add(O.mul(square, O.sub(O.mul(x, CUBIC + 2), CUBIC + 3)), 1.0)


def _far(x: Tensor) -> Tensor:
    """a x^3 - 5 a x^2 + 8 a x - 4 a."""
    inner = O.add(O.mul(O.sub(x, 5.0), x), 8.0)
    return O.mul(O.sub(O.mul(inner, x), 4.0), CUBIC)


def _read(x: Tensor, positions: Sequence[Tensor], outside: str, corners: bool) -> Tensor:
    """Read all channels at whole positions, (n, c, ...)."""
    n, channels, *sizes = x.type.sizes
    inside = None
    columns = []
    for position, size in zip(positions, sizes, strict=True):
        if outside == "zeros":
            within = O.minimum(
                O.greater_equal(position, 0.0), O.less_equal(position, float(size - 1))
            )
            inside = within if inside is None else O.minimum(inside, within)
        elif outside == "reflection":
            position = O.round(_reflected(position, size, corners))
        limited = O.minimum(O.maximum(position, 0.0), float(size - 1))
        columns.append(O.cast(limited, "int64"))
    shape = (*columns[0].type.sizes, 1)
    rows = (
        O.concat(*(O.reshape(column, shape) for column in columns), axis=len(shape) - 1)
        if len(columns) > 1
        else O.reshape(columns[0], shape)
    )
    wide = O.expand(rows, (n, channels, *rows.type.sizes[2:]))
    value = O.gather_nd(x, wide, batch=2)
    return value if inside is None else O.where(inside, value, 0.0)


def _reflected(position: Tensor, size: int, corners: bool) -> Tensor:
    """Reflect positions at the borders until they lie inside."""
    low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
    span = high - low
    if span <= 0:
        return O.mul(position, 0.0)
    distance = O.sub(position, low)
    rest = O.remainder(distance, constant(np.asarray(2 * span, position.element.numpy)))
    mirrored = O.minimum(rest, O.sub(2 * span, rest))
    return O.add(mirrored, low)
