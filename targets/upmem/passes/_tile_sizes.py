# SPDX-License-Identifier: Apache-2.0
"""Chooses the sizes of the tiles that a tasklet computes in its part of WRAM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import Value
from xtc_passes.local._view_layouts import element_bytes

_SHORT = 256  # bytes of a row up to which rows grow before other loops are tiled
_ALIGNMENT = 8


@dataclass(frozen=True)
class Limits:
    """The limits of tiles.

    Attributes:
        nbytes: WRAM for all tiles of an operation.
        tasklets: number of tasklets, which should all have a tile.
        rows: number of rows of each DPU.
        row_loop: the loop over rows, or None.
    """

    nbytes: int
    tasklets: int
    rows: int
    row_loop: int | None


def tile_sizes(
    nest: Structured, limits: Limits, fixed: Sequence[int] | None = None
) -> list[int] | None:
    """The iterations of each loop in a tile, divisors of its extent; None if nothing fits.

    Rows of operands grow first, because short transfers do not amortize their latency, then
    reductions, then other loops. Tiles stay small enough that every tasklet has one. Nonzero sizes
    in `fixed` are kept.
    """
    given = fixed or [0] * len(nest.extents)
    sizes = [size or 1 for size in given]
    if tile_bytes(nest, sizes) > limits.nbytes:
        return None
    order = _order(nest)
    for is_first in (True, False):
        for loop in (loop for loop in order if not given[loop]):
            most = _SHORT // _element_bytes(nest, loop) if is_first else None
            _grow(nest, sizes, loop, limits, most)
    return sizes


def tile_bytes(nest: Structured, sizes: Sequence[int]) -> int:
    """Bytes of WRAM for the tiles of all operands."""
    return sum(
        _rounded(math.prod(span(nest, number, sizes)) * element_bytes(value))
        for number, value in enumerate(nest.op.operands)
        if is_tiled(value)
    )


def describe_tiles(nest: Structured, sizes: Sequence[int]) -> list[str]:
    """A description of the tile of each operand, with its bytes."""
    lines = []
    for number, value in enumerate(nest.op.operands):
        if is_tiled(value):
            shape = span(nest, number, sizes)
            nbytes = _rounded(math.prod(shape) * element_bytes(value))
            text = "x".join(map(str, [*shape, value.type.element_type]))
            what = "the result" if number == nest.destination else f"operand {number}"
            lines.append(f"{what}, {value.type}: a tile of {text} has {nbytes} bytes")
    return lines


def is_tiled(value: Value) -> bool:
    """Whether an operand is a buffer, not a scalar."""
    return hasattr(value.type, "shape")


def span(nest: Structured, number: int, sizes: Sequence[int]) -> list[int]:
    """The sizes of the part of an operand that a tile needs."""
    return [
        1 + sum(f * (sizes[loop] - 1) for loop, f in index.factors)
        for index in nest.indices[number]
    ]


def _rounded(nbytes: int) -> int:
    return (nbytes + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT


def _order(nest: Structured) -> list[int]:
    """The loops in the order of growth: along rows of most operands first, reductions, others."""
    along = [0] * len(nest.extents)
    for index in (row[-1] for row in nest.indices if row):
        if index.loop is not None:
            along[index.loop] += 1
    reductions = set(nest.reductions)

    def key(loop: int) -> tuple[int, bool, int]:
        return (-along[loop], loop not in reductions, -loop)

    return sorted(range(len(along)), key=key)


def _element_bytes(nest: Structured, loop: int) -> int:
    """The least bytes of an element of the operands that a loop indexes contiguously."""
    values = zip(nest.op.operands, nest.indices, strict=True)
    along = (value for value, row in values if any(index.factor(loop) for index in row))
    return min((element_bytes(value) for value in along), default=1)


def _grow(nest: Structured, sizes: list[int], loop: int, limits: Limits, most: int | None) -> None:
    extent = limits.rows if loop == limits.row_loop else nest.extents[loop]
    for size in _divisors(math.gcd(extent, nest.extents[loop])):
        if size <= sizes[loop] or (most is not None and size > most):
            continue
        tried = [*sizes[:loop], size, *sizes[loop + 1 :]]
        if tile_bytes(nest, tried) > limits.nbytes or not _feeds_all(nest, sizes, tried, limits):
            break
        sizes[loop] = size


def _feeds_all(
    nest: Structured, before: Sequence[int], sizes: Sequence[int], limits: Limits
) -> bool:
    """Whether every tasklet still has a tile, or the loop is a reduction."""
    counts = [_tiles(nest, tried, limits) for tried in (before, sizes)]
    return counts[0] == counts[1] or counts[1] >= limits.tasklets


def _tiles(nest: Structured, sizes: Sequence[int], limits: Limits) -> int:
    return math.prod(
        (limits.rows if loop == limits.row_loop else nest.extents[loop]) // sizes[loop]
        for loop in nest.out
    )


def _divisors(number: int) -> list[int]:
    return [size for size in range(1, number + 1) if number % size == 0]
