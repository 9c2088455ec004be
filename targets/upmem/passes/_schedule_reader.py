# SPDX-License-Identifier: Apache-2.0
"""Reads the tiles of a user's schedule, and refuses schedules that DPUs cannot follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from xtc.core.errors import UserError
from xtc.ir.analysis.structured import Structured
from xtc.loops.check_mesh import shard_loops, thread_loops
from xtc.loops.nest import Extent, NestLoop
from xtc_passes.tensor._scheduled import Scheduled
from xtc_targets.upmem.passes._shards import rows_of_each

_REFUSED: tuple[tuple[str, Callable[[NestLoop], object], str], ...] = (
    ("vectorized", lambda loop: loop.vectorize, "DPUs have no vectors"),
    ("unrolled", lambda loop: loop.unroll, "the compiler of the C for DPUs unrolls short loops"),
    ("where to fuse a producer", lambda loop: loop.fuse, "a kernel computes whole operands"),
    ("where to fuse a consumer", lambda loop: loop.consumer, "a kernel computes whole operands"),
    ("a call of a function", lambda loop: loop.external, "only the host calls functions of C"),
    (
        "where parts of an operand are",
        lambda loop: loop.shard,
        "a DPU has the rows of operands that it computes with, and all of the others",
    ),
)


@dataclass(frozen=True)
class ScheduleReader:
    """Reads the schedule of one operation.

    Attributes:
        entry: the operation with its schedule.
        nest: its loops and operands.
        row_loop: the loop over rows of the result, or None.
        dpus: number of DPUs that share a kernel.
        tasklets: number of tasklets of each DPU.
    """

    entry: Scheduled
    nest: Structured
    row_loop: int | None
    dpus: int
    tasklets: int

    def loops(self) -> list[tuple[int, int]]:
        """Loops over tiles, with the elements per iteration, 0 if the compiler chooses them."""
        self._check_loops()
        self._check_order()
        self._check_dpus()
        self._check_buffers()
        return [(self._axis(extent), self._step(extent)) for extent in self._over_tiles]

    def shared(self) -> int:
        """The number of these loops that tasklets share; -1 for all but reductions."""
        threaded = thread_loops(self.entry.nest)
        parallel = [loop for loop in self.entry.nest.loops if loop.parallelize]
        named = threaded or parallel
        if not named and shard_loops(self.entry.nest):
            return -1
        if parallel and not threaded:
            self._check_parallel(parallel)
        first = [e.loop for e in self._over_tiles if not e.loop.distribute or e.loop in threaded]
        if named and first[: len(named)] != named:
            raise self._error(named[0], f"is inside of '{first[0].name}'", "tasklets share it")
        sharded = [e for e in self._over_tiles if e.loop in shard_loops(self.entry.nest)]
        return len(named) + len(sharded) if named else -1

    @property
    def _extents(self) -> list[Extent]:
        return self.entry.nest.extents()

    @cached_property
    def _tile_begin(self) -> int:
        """The position of the first loop of a tile: the last loops, one plain loop per axis."""
        seen: set[str] = set()
        extents = self._extents
        position = len(extents)
        while position and not self._is_marked(extents[position - 1].loop):
            loop = extents[position - 1].loop
            if loop.axis in seen:
                break
            seen.add(loop.axis)
            position -= 1
        return position

    @property
    def _over_tiles(self) -> list[Extent]:
        """Loops over tiles, and loops over axes that the user did not tile."""
        outer = [e for e in self._extents[: self._tile_begin] if not self._is_shared_by_dpus(e)]
        inner = [e for e in self._extents[self._tile_begin :] if self._is_open(e)]
        return [*outer, *inner]

    def _is_shared_by_dpus(self, extent: Extent) -> bool:
        """Whether DPUs share a loop, and another loop divides their rows further."""
        if extent.loop not in shard_loops(self.entry.nest):
            return False
        inner = self._extents[self._extents.index(extent) + 1 : self._tile_begin]
        return any(e.loop.axis == extent.loop.axis for e in inner)

    def _is_open(self, extent: Extent) -> bool:
        """Whether a loop runs over a whole axis, so that the compiler chooses its tile."""
        return extent.loop.tile is None

    @staticmethod
    def _is_marked(loop: NestLoop) -> bool:
        return bool(loop.parallelize or loop.distribute or loop.buffer or loop.pack)

    def _step(self, extent: Extent) -> int:
        """Elements per iteration; 0 if no inner loop is a tile of it."""
        inside = [
            other
            for other in self._extents[self._extents.index(extent) + 1 :]
            if other.loop.axis == extent.loop.axis
        ]
        return extent.step if inside else 0

    def _axis(self, extent: Extent) -> int:
        return self.entry.nest.space.names.index(extent.loop.axis)

    def _check_loops(self) -> None:
        if self.entry.nest.segments:
            raise UserError(
                f"{self.entry.title} is split, and a kernel of DPUs is one loop nest",
                hints=["schedule it without split"],
            )
        for extent in self._extents:
            for what, has, why in _REFUSED:
                if has(extent.loop):
                    raise self._error(extent.loop, f"is {what}", why)
            if extent.size % extent.step:
                raise self._error(
                    extent.loop,
                    f"has tiles of {extent.step}, which do not divide its {extent.size}",
                    "DPUs and tasklets have tiles of one size",
                )

    def _check_order(self) -> None:
        """Raise UserError unless reductions are inside of the other loops over tiles."""
        reduced: NestLoop | None = None
        for extent in self._over_tiles:
            axis = self.entry.nest.space.axis(extent.loop.axis)
            if axis is not None and axis.reduction:
                reduced = reduced or extent.loop
            elif reduced is not None and self._step(extent):
                raise self._error(
                    extent.loop,
                    f"is inside of '{reduced.name}', which is reduced",
                    "a tile of the result stays in WRAM until it is complete",
                )

    def _check_dpus(self) -> None:
        """Raise UserError unless DPUs share rows, in the parts that other kernels use too."""
        sharded = shard_loops(self.entry.nest)
        found = [extent for extent in self._extents if extent.loop in sharded]
        total = found[0].size if found else 1
        rows = rows_of_each(total, self.dpus)
        inside = 1  # number of DPUs that share an iteration
        for extent in reversed(found):
            if self._axis(extent) != self.row_loop:
                raise self._error(extent.loop, "is not over rows of the result", "DPUs share rows")
            if extent.step != min(rows * inside, total):
                raise self._rows_differ(extent, inside, rows)
            inside *= self._places(extent.loop)

    def _places(self, loop: NestLoop) -> int:
        mesh = self.entry.nest.space.mesh
        return mesh.size(loop.distribute) if mesh else 1

    def _rows_differ(self, extent: Extent, inside: int, rows: int) -> UserError:
        whom = "a DPU" if inside == 1 else f"{inside} DPUs"
        each = "each has" if inside == 1 else "these have"
        return self._error(
            extent.loop,
            f"gives {whom} {extent.step} rows, and on {self.dpus} DPUs {each} {rows * inside}",
            "all kernels over the same number of rows distribute them equally",
        )

    def _check_parallel(self, parallel: list[NestLoop]) -> None:
        names = self.entry.nest.space.names
        over_rows = any(names.index(loop.axis) == self.row_loop for loop in parallel)
        if self.dpus > 1 and self.row_loop is not None and not over_rows:
            raise self._error(
                parallel[0],
                f"is parallelized, and '{names[self.row_loop]}' is not",
                f"{self.dpus} DPUs share rows of the result",
            )

    def _check_buffers(self) -> None:
        """Raise UserError for buffers that are not at the last loop that their tile depends on."""
        own = [e.loop for e in self._over_tiles if not self._is_reduced(e.loop)]
        for extent in self._extents:
            loop = extent.loop
            if loop.buffer and loop != (own[-1] if own else None):
                raise self._error(
                    loop,
                    "has the result's buffer",
                    f"a tile of it is in WRAM inside of '{own[-1].name}'" if own else "",
                )
            for operand in loop.pack:
                last = self._loaded_at(operand)
                if loop != last:
                    where = f"inside of '{last.name}'" if last else "outside of all loops"
                    raise self._error(
                        loop, f"packs operand {operand}", f"its tile is copied to WRAM {where}"
                    )

    def _is_reduced(self, loop: NestLoop) -> bool:
        axis = self.entry.nest.space.axis(loop.axis)
        return axis is not None and axis.reduction

    def _loaded_at(self, operand: int) -> NestLoop | None:
        """The last loop over tiles that an operand's tile depends on."""
        ordered = sorted(self._over_tiles, key=lambda e: self._is_reduced(e.loop))
        using = [e.loop for e in ordered if self.nest.uses_loop(operand, self._axis(e))]
        return using[-1] if using else None

    def _error(self, loop: NestLoop, what: str, why: str = "") -> UserError:
        return UserError(
            f"'{loop.name}' of {self.entry.title} {what}: DPUs do not support this",
            notes=[why] if why else [],
        )
