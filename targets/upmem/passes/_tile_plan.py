# SPDX-License-Identifier: Apache-2.0
"""The loops over an operation's tiles: their order, and the loops that tasklets share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import DenseI64ArrayAttr, IntegerAttr, IntegerType, Operation

SCHEDULE, SHARED = "upmem.schedule", "upmem.shared"
"""Attributes of an operation with a user's schedule: for each loop over tiles, the operation's loop
and the elements per iteration, 0 for as many as fit; and the number of these loops that tasklets
share, -1 for all but reductions. The elements of an axis' last loop are its tile."""


@dataclass(frozen=True)
class TileLoop:
    """One loop over tiles.

    Attributes:
        loop: loop of the operation.
        size: elements that one run of the loop covers; for the loop over rows, of a DPU's rows.
        step: elements per iteration; 0 while undecided.
    """

    loop: int
    size: int
    step: int

    @property
    def trips(self) -> int:
        """Iterations of one run."""
        return self.size // self.step


@dataclass(frozen=True)
class TilePlan:
    """The order in which tasklets compute the tiles of an operation.

    Attributes:
        sizes: the iterations of each loop in a tile; 0 while undecided.
        loops: the loops over tiles, outermost first, reductions last.
        shared: the number of outermost loops that tasklets share.
    """

    sizes: tuple[int, ...]
    loops: tuple[TileLoop, ...]
    shared: int

    def completed(self, sizes: Sequence[int]) -> TilePlan:
        """The plan with these sizes for undecided tiles."""
        loops = (replace(loop, step=loop.step or sizes[loop.loop]) for loop in self.loops)
        return replace(self, sizes=tuple(sizes), loops=tuple(loops))

    @property
    def tiles(self) -> int:
        """The number of iterations that tasklets share."""
        return math.prod(loop.trips for loop in self.loops[: self.shared])


def default_plan(nest: Structured, rows: int, row_loop: int | None) -> TilePlan:
    """The plan in which tasklets share all tiles of the result by rows; all sizes are undecided."""
    own = sorted(nest.out, key=lambda loop: loop != row_loop)
    order = (*own, *nest.reductions)
    loops = tuple(TileLoop(loop, _extent(nest, loop, rows, row_loop), 0) for loop in order)
    return TilePlan((0,) * len(nest.extents), loops, len(own))


def plan_of(nest: Structured, rows: int, row_loop: int | None) -> TilePlan:
    """The plan of the user's schedule, or else the default plan."""
    if SCHEDULE not in nest.op.attributes:
        return default_plan(nest, rows, row_loop)
    numbers = list(DenseI64ArrayAttr(nest.op.attributes[SCHEDULE]))
    left = {loop: _extent(nest, loop, rows, row_loop) for loop in range(len(nest.extents))}
    loops = []
    for loop, step in zip(numbers[::2], numbers[1::2], strict=True):
        loops.append(TileLoop(loop, left[loop], step))
        left[loop] = step
    for loop, size in left.items():
        if not any(known.loop == loop for known in loops):
            loops.append(TileLoop(loop, size, 0))
            left[loop] = 0
    own = [loop for loop in loops if loop.loop in nest.out]
    ordered = [*own, *(loop for loop in loops if loop.loop not in nest.out)]
    given = IntegerAttr(nest.op.attributes[SHARED]).value
    shared = len(own) if given < 0 else given
    # Rows first: the last DPU has fewer rows, and thus fewer tiles.
    first = sorted(ordered[:shared], key=lambda loop: loop.loop != row_loop)
    sizes = tuple(left[loop] for loop in range(len(nest.extents)))
    return TilePlan(sizes, (*first, *ordered[shared:]), shared)


def set_schedule(op: Operation, loops: Sequence[tuple[int, int]], shared: int) -> None:
    """Mark an operation with loops, their steps, and the number that tasklets share."""
    numbers = [number for loop in loops for number in loop]
    op.attributes[SCHEDULE] = DenseI64ArrayAttr.get(numbers, op.context)
    i64 = IntegerType.get_signless(64, op.context)
    op.attributes[SHARED] = IntegerAttr.get(i64, shared)


def _extent(nest: Structured, loop: int, rows: int, row_loop: int | None) -> int:
    return rows if loop == row_loop else nest.extents[loop]
