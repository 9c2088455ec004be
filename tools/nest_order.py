# SPDX-License-Identifier: Apache-2.0
"""The order in which a loop nest visits the points of two axes, and the tile that it packs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xtc.loops.nest import Extent, Nest


@dataclass(frozen=True)
class Block:
    """Points that are visited together: `rows` by `columns` from (row, column) on."""

    row: int
    column: int
    rows: int = 1
    columns: int = 1


def blocks(nest: Nest, rows: str, columns: str) -> list[Block]:
    """The points of axes `rows` and `columns` in the order of their first visit.

    The elements of a vector instruction form one block. The nest has no segments.
    """
    size = {axis.name: axis.size for axis in nest.axes}
    found = dict.fromkeys(
        Block(at[rows], at[columns], width[rows], width[columns])
        for at, width in _points(nest.extents(), dict.fromkeys(size, 0), size)
    )
    return list(found)


def packed_tile(nest: Nest, rows: str, columns: str) -> Block:
    """The tile of an operand with these axes that the first iteration of the packing loop packs."""
    left = {axis.name: axis.size for axis in nest.axes}
    for extent in nest.extents():
        left[extent.loop.axis] = extent.step
        if extent.loop.pack:
            return Block(0, 0, left[rows], left[columns])
    raise ValueError("no loop packs")


def _points(
    extents: Sequence[Extent], at: Mapping[str, int], left: Mapping[str, int]
) -> Iterator[tuple[Mapping[str, int], Mapping[str, int]]]:
    """The start and the extent on every axis of each run of the body."""
    if not extents:
        yield at, left
        return
    first, *inner = extents
    axis, size = first.loop.axis, min(first.size, left[first.loop.axis])
    if first.loop.vectorize:
        yield from _points(inner, at, {**left, axis: size})
        return
    for start in range(0, size, first.step):
        covered = min(first.step, size - start)
        yield from _points(inner, {**at, axis: at[axis] + start}, {**left, axis: covered})
