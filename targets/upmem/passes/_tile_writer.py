# SPDX-License-Identifier: Apache-2.0
"""Writes the loops of an operation in which tasklets compute its tiles in WRAM."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import Structured, labels, shape_of
from xtc.ir.builders import control, generic, numbers
from xtc.ir.builders.affine import digits
from xtc.ir.builders.functions import call
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import (
    IndexType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    StridedLayoutAttr,
    Value,
    memref,
)
from xtc_passes.local._view_layouts import DYNAMIC
from xtc_targets.upmem.passes import _device_calls as device
from xtc_targets.upmem.passes._tile_plan import TileLoop, TilePlan
from xtc_targets.upmem.passes._tile_sizes import is_tiled, span


@dataclass(frozen=True)
class TileWriter:
    """Writes the loops of an operation on buffers in MRAM.

    Attributes:
        nest: the operation.
        plan: its tiles, and the loops over them.
        rows: number of rows of each DPU.
        row_loop: the loop over rows, or None.
        tasklets: number of tasklets of a DPU.
        initial: the fill value of the result; None if the result is read, or not used.
    """

    nest: Structured
    plan: TilePlan
    rows: int
    row_loop: int | None
    tasklets: int
    initial: Value | None

    def write(self) -> None:
        """Replace the operation by the loops."""
        with self.nest.op.location, InsertionPoint(self.nest.op), ExitStack() as loops:
            tiles = self._load_all({}, {})
            starts = self._shared_starts(self._tile_loop(loops))
            own = [loop for loop in self.plan.loops if loop.loop in self.nest.out]
            tiles = self._load_all(tiles, self._known(starts, self.plan.shared))
            for position in range(self.plan.shared, len(own)):
                self._enter(own[position], starts, loops)
                tiles = self._load_all(tiles, self._known(starts, position + 1))
            out = self._begin(starts)
            self._reduce(tiles, out, starts)
            self._store(out, starts)
        self.nest.op.erase()

    def _tile_loop(self, loops: ExitStack) -> Value:
        """Open a loop over every n-th tile of this DPU; returns the number of the tile."""
        tasklet = call(device.TASKLET, [], [IndexType.get()]).results[0]
        return loops.enter_context(control.loop(tasklet, self._tiles_here(), self.tasklets)).index

    def _tiles_here(self) -> Number:
        """The number of tiles of this DPU: fewer on the last DPU with rows, none after it."""
        shared = self.plan.loops[: self.plan.shared]
        over_rows = next((loop for loop in shared if loop.loop == self.row_loop), None)
        rows = self._rows_here()
        if over_rows is not None:
            per_step = self.plan.tiles // (self.rows // over_rows.step)
            return numbers.multiply(numbers.divide(rows, over_rows.step), per_step)
        # Each tasklet iterates over all rows of the DPU, if there are any.
        some = numbers.divide(numbers.add(rows, self.rows - 1), self.rows)
        return numbers.multiply(some, self.plan.tiles)

    def _rows_here(self) -> Number:
        all_rows = 1 if self.row_loop is None else self.nest.extents[self.row_loop]
        dpu = call(device.DPU, [], [IndexType.get()]).results[0]
        left = numbers.subtract(all_rows, numbers.multiply(dpu, self.rows))
        return numbers.maximum(0, numbers.minimum(self.rows, left))

    def _shared_starts(self, tile: Value) -> dict[int, Number]:
        """The start of the tasklet's tile by loop; rows count from the DPU's first row."""
        starts: dict[int, Number] = {}
        if self.row_loop is not None:
            dpu = call(device.DPU, [], [IndexType.get()]).results[0]
            starts[self.row_loop] = numbers.multiply(dpu, self.rows)
        shared = self.plan.loops[: self.plan.shared]
        found = digits(tile, [loop.trips for loop in shared]) if shared else []
        for loop, position in zip(shared, found, strict=True):
            start = numbers.multiply(position, loop.step)
            starts[loop.loop] = numbers.add(starts.get(loop.loop, 0), start)
        return starts

    def _enter(self, loop: TileLoop, starts: dict[int, Number], loops: ExitStack) -> None:
        """Open a loop that each tasklet runs; a loop of one iteration is omitted."""
        if loop.trips > 1 or loop.loop == self.row_loop:
            end: Number = loop.size
            if loop.loop == self.row_loop and loop.size == self.rows:
                end = self._rows_here()
            index = loops.enter_context(control.loop(0, end, loop.step)).index
            starts[loop.loop] = numbers.add(starts.get(loop.loop, 0), index)
        else:
            starts.setdefault(loop.loop, 0)

    def _known(self, starts: dict[int, Number], count: int) -> dict[int, Number]:
        """The starts that loops after the first `count` do not change."""
        later = {loop.loop for loop in self.plan.loops[count:]}
        return {loop: start for loop, start in starts.items() if loop not in later}

    def _load_all(self, tiles: dict[int, Value], known: dict[int, Number]) -> dict[int, Value]:
        """These tiles, and those of the other inputs whose starts are known."""
        found = dict(tiles)
        for number in self._numbers(known):
            if number not in found and (tile := self._load(number, known)) is not None:
                found[number] = tile
        return found

    def _numbers(self, known: dict[int, Number]) -> list[int]:
        """The inputs whose tiles depend only on known loops, or on loops within one tile."""
        whole = {n for n, size in enumerate(self.plan.sizes) if size == self.nest.extents[n]}
        if self.row_loop is not None:
            whole.discard(self.row_loop)
        return [
            number
            for number in range(self.nest.destination)
            if all(
                loop in known or loop in whole
                for index in self.nest.indices[number]
                for loop, _ in index.factors
            )
        ]

    def _load(self, number: int, starts: dict[int, Number]) -> Value | None:
        """An input's tile in WRAM; None for a scalar, which is used directly."""
        value = self.nest.op.operands[number]
        if not is_tiled(value):
            return None
        tile = self._allocate(number)
        memref.copy(self._window(number, starts), tile)
        return tile

    def _allocate(self, number: int) -> Value:
        value = self.nest.op.operands[number]
        space = IntegerAttr.get(IntegerType.get_signless(64), device.SPACE)
        shape = span(self.nest, number, self.plan.sizes)
        type = MemRefType.get(shape, value.type.element_type, None, space)
        return memref.alloc(type, [], [])

    def _window(self, number: int, starts: dict[int, Number]) -> Value:
        """The part of an operand in MRAM."""
        value = self.nest.op.operands[number]
        shape = span(self.nest, number, self.plan.sizes)
        if not shape or shape == list(shape_of(value)):
            return value
        offsets = [
            numbers.linear_offset(
                [
                    (index.offset, 1),
                    *((starts.get(loop, 0), factor) for loop, factor in index.factors),
                ]
            )
            for index in self.nest.indices[number]
        ]
        return _subview(value, offsets, shape)

    def _begin(self, starts: dict[int, Number]) -> Value:
        """The result's tile, with its initial contents."""
        number = self.nest.destination
        tile = self._allocate(number)
        if self.initial is not None:
            generic.fill(self.initial, tile)
        elif self.nest.reads_destination:
            memref.copy(self._window(number, starts), tile)
        return tile

    def _store(self, tile: Value, starts: dict[int, Number]) -> None:
        memref.copy(tile, self._window(self.nest.destination, starts))

    def _reduce(self, tiles: dict[int, Value], out: Value, starts: dict[int, Number]) -> None:
        """Compute the strips of the reductions, one after another."""
        inner = dict(starts)
        with ExitStack() as loops:
            for position, loop in enumerate(self.plan.loops):
                if loop.loop not in self.nest.out:
                    self._enter(loop, inner, loops)
                    tiles = self._load_all(tiles, self._known(inner, position + 1))
            self._compute(self._load_all(tiles, inner), out, inner)

    def _compute(self, tiles: dict[int, Value], out: Value, starts: dict[int, Number]) -> None:
        """Compute the operation on the tiles."""
        nest = self.nest
        operands = [
            (tiles.get(number, nest.op.operands[number]), _without_offsets(nest.indices[number]))
            for number in range(nest.destination)
        ]
        operands.append((out, _without_offsets(nest.indices[nest.destination])))
        created = generic.generic(
            operands,
            len(nest.extents),
            nest.reductions,
            labels(nest.op),
            InsertionPoint.current,
        )
        _move_body(nest.op, created, starts)


def _without_offsets(row: Sequence[Index]) -> list[Index]:
    return [Index(index.factors, 0) for index in row]


def _move_body(source: Operation, target: Operation, starts: dict[int, Number]) -> None:
    """Move the body, and let loop indices count from the start of the operation."""
    old, new = source.regions[0].blocks[0], target.regions[0].blocks[0]
    for before, after in zip(old.arguments, new.arguments, strict=True):
        before.replace_all_uses_with(after)
    moved = [inner.operation for inner in old.operations]
    for op in moved:
        op.detach_from_parent()
        new.append(op)
    for op in moved:
        if op.name == "linalg.index":
            _shift_index(op, starts)


def _shift_index(op: Operation, starts: dict[int, Number]) -> None:
    """Turn the index in the tile into the index in the whole loop."""
    start = starts.get(int(IntegerAttr(op.attributes["dim"]).value), 0)
    if start == 0:
        return
    counter = op.results[0]
    users = {use.owner.operation for use in counter.uses}
    following = [inner.operation for inner in op.block.operations]
    with InsertionPoint(following[following.index(op) + 1]):
        moved = numbers.as_value(numbers.add(counter, start))
    for user in users:
        for position, value in enumerate(user.operands):
            if value == counter:
                user.operands[position] = moved


def _subview(source: Value, offsets: Sequence[Number], sizes: Sequence[int]) -> Value:
    strides, _ = source.type.get_strides_and_offset()
    layout = StridedLayoutAttr.get(DYNAMIC, list(strides))
    type = MemRefType.get(list(sizes), source.type.element_type, layout, source.type.memory_space)
    ones = [1] * len(sizes)
    dynamic = [offset for offset in offsets if not isinstance(offset, int)]
    static = [offset if isinstance(offset, int) else DYNAMIC for offset in offsets]
    return memref.SubViewOp(type, source, dynamic, [], [], static, list(sizes), ones).result
