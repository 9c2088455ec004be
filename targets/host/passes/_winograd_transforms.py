# SPDX-License-Identifier: Apache-2.0
"""The transforms of Winograd's algorithm: tiles of an image, and results as sums of products."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.generic import generic, loop_index, yield_
from xtc.ir.builders.numbers import add, as_value, compare, multiply
from xtc.ir.builders.slices import empty, tensor_type
from xtc.ir.mlir import F32Type, IndexType, InsertionPoint, Value, arith, tensor
from xtc_targets.host.passes._winograd import INPUT_ROWS, READ, TILE

TAPS = 3  # of a filter along each dimension
N, H, W, P, Q, C = (Index(((loop, 1),), 0) for loop in range(6))
"""The loops over images, rows and columns of tiles, rows and columns in a tile, and channels."""


def transformed(image: Value, rows: int, ip: InsertionPoint) -> Value:
    """The transformed tiles of an image, by entry, then by tile, then by channel."""
    images, _, width, channels = shape_of(image)
    across = (width - READ + TILE) // TILE
    into = empty((READ, READ, images, rows, across, channels), image, ip)
    op = generic([(into, (P, Q, N, H, W, C))], 6, [], {}, ip)
    end = InsertionPoint(op.regions[0].blocks[0])
    n, h, w, i, j, c = (loop_index(loop, end) for loop in range(6))
    ys, xs = _entries(i, h, end), _entries(j, w, end)
    upper, lower = ([tensor.extract(image, [n, y, x, c], ip=end) for x, _ in xs] for y, _ in ys)
    (_, down), (_, right) = ys[1], xs[1]
    left = _added(upper[0], upper[1], right, end)
    yield_([_added(left, _added(lower[0], lower[1], right, end), down, end)], end)
    flat = (READ * READ, images * rows * across, channels)
    groups = [[0, 1], [2, 3, 4], [5]]
    return tensor.collapse_shape(tensor_type(flat, image), op.results[0], groups, ip=ip)


def _entries(entry: Value, tile: Value, ip: InsertionPoint) -> list[tuple[Value, Value]]:
    """The two rows of an image that a transformed row adds, with signs; the first has sign 1."""
    kept = [
        sorted(((at, sign) for at, sign in enumerate(row) if sign), key=lambda term: -term[1])
        for row in INPUT_ROWS
    ]
    begin = multiply(tile, TILE, ip)
    return [
        (
            as_value(add(begin, _chosen(entry, [row[which][0] for row in kept], ip), ip), ip),
            _chosen(entry, [float(row[which][1]) for row in kept], ip),
        )
        for which in range(2)
    ]


def _chosen(number: Value, choices: Sequence[int] | Sequence[float], ip: InsertionPoint) -> Value:
    """The element of `choices` at a run-time number."""
    like = IndexType.get() if isinstance(choices[0], int) else F32Type.get()
    value = arith.constant(like, choices[-1], ip=ip)
    for other in range(len(choices) - 1):
        if choices[other] != choices[-1]:
            choice = arith.constant(like, choices[other], ip=ip)
            value = arith.select(compare("eq", number, other, ip), choice, value, ip=ip)
    return value


def _added(a: Value, b: Value, sign: Value, ip: InsertionPoint) -> Value:
    """`a + sign * b`."""
    return arith.addf(a, arith.mulf(sign, b, ip=ip), ip=ip)


def combination(m: Sequence[Value], ip: InsertionPoint) -> Value:
    """A result as a signed sum of nine products."""
    p, q = (_chosen(loop_index(loop, ip), [1.0, -1.0], ip) for loop in (3, 4))
    first, *others = (
        _added(row[0], arith.addf(row[1], row[2], ip=ip), q, ip)
        for row in (m[at * TAPS : at * TAPS + TAPS] for at in range(TAPS))
    )
    return _added(first, arith.addf(*others, ip=ip), p, ip)
