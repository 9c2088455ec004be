# SPDX-License-Identifier: Apache-2.0
"""The loop of a block over the tiles of its operands: copies run ahead, mma.sync accumulates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.builders import control
from xtc.ir.builders.control import branch
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import Number, add, compare
from xtc.ir.mlir import F32Type, Value, arith
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._mma_contraction import STEP_BYTES
from xtc_targets.nvgpu.passes._mma_tiling import Tiling
from xtc_targets.nvgpu.passes._panel import Panel
from xtc_targets.nvgpu.passes._panel_copies import PanelCopies
from xtc_targets.nvgpu.passes._panel_reads import GROUP, PanelReads
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._warp_instructions import ACCUMULATORS, mma


@dataclass(frozen=True)
class ThreadPosition:
    """The position of a thread in its block, and its warp's part of the tile."""

    thread: Value
    lane: Value
    row: Number
    column: Number


class MmaLoop:
    """The accumulation of one warp's part of a block's tile.

    Slot s of shared memory has tile s, s + slots, ... of both operands. While a tile is computed
    with, the next ones are on their way; fragments of a step are loaded before the mma of the step
    before, also across tiles:

        begin to copy tiles 0 .. slots - 2
        wait for tile 0, barrier, load its fragments of step 0
        for each tile:
            begin to copy the tile slots - 1 ahead, to the slot that all have left
            for each step: load the fragments of the next one, mma
            before those of the next tile: wait until it is there, barrier
    """

    def __init__(
        self, tiling: Tiling, panels: tuple[Panel, Panel], position: ThreadPosition
    ) -> None:
        self.tiling, self.kind = tiling, panels[0].kind
        self.tiles = -(-panels[0].source.k_extent // panels[0].k_elements)
        self.steps = tiling.k_bytes // STEP_BYTES
        self.copies = [PanelCopies(panel, position.thread, tiling.threads) for panel in panels]
        firsts = (position.row, position.column)
        self.groups = [
            size // warps // GROUP
            for size, warps in zip((tiling.m, tiling.n), tiling.warps, strict=True)
        ]
        self.reads = [
            PanelReads(panel, position.lane, first, is_a=number == 0)
            for number, (panel, first) in enumerate(zip(panels, firsts, strict=True))
        ]
        for read, groups in zip(self.reads, self.groups, strict=True):
            read.prepare(groups, self.steps)

    def write(self, shared: Value) -> list[list[list[Value]]]:
        """The accumulators of each 16 x 8 of the warp's part; shared memory begins at `shared`."""
        slots, nbytes = self.tiling.slots, self.tiling.slot_bytes
        for slot in range(min(slots - 1, self.tiles)):
            self._copy(slot, advanced(shared, slot * nbytes))
        for _ in range(slots - 1 - self.tiles):
            nvvm.cp_async_commit_group()
        self._wait()
        fragments = self._fragments(shared, 0)
        zero = arith.constant(F32Type.get(), 0.0)
        accumulators = [zero] * (ACCUMULATORS * 2 * self.groups[0] * self.groups[1])
        # The slot that is read first, and the one that was read before it and is written next.
        offsets = [as_i32(0), as_i32((slots - 1) * nbytes)]
        with control.loop(as_i32(0), self.tiles, 1, [*offsets, *fragments, *accumulators]) as loop:
            self._iteration(loop, shared, len(fragments))
        return self._arranged(loop.results[2 + len(fragments) :])

    def _iteration(self, loop: control.Loop, shared: Value, count: int) -> None:
        tiling = self.tiling
        read, written = loop.carried[:2]
        fragments, accumulators = loop.carried[2 : 2 + count], loop.carried[2 + count :]
        ahead = add(loop.index, tiling.slots - 1)
        with branch(compare("ult", ahead, self.tiles)):
            self._begin(ahead, advanced(shared, written))
        nvvm.cp_async_commit_group()
        after = add(read, tiling.slot_bytes)
        last = compare("ult", after, tiling.slots * tiling.slot_bytes)
        after = arith.select(last, after, as_i32(0))
        for step in range(self.steps):
            if step + 1 < self.steps:
                following = self._fragments(advanced(shared, read), step + 1)
            else:
                self._wait()
                following = self._fragments(advanced(shared, after), 0)
            accumulators = self._multiply(fragments, accumulators)
            fragments = following
        loop.following = [after, read, *fragments, *accumulators]

    def _copy(self, tile: Number, slot: Value) -> None:
        self._begin(tile, slot)
        nvvm.cp_async_commit_group()

    def _begin(self, tile: Number, slot: Value) -> None:
        for copy in self.copies:
            copy.issue(tile, slot)

    def _wait(self) -> None:
        """Wait until all threads have the oldest tile in flight, and have left the one before."""
        nvvm.cp_async_wait_group(self.tiling.slots - 2)
        nvvm.barrier(None)

    def _fragments(self, slot: Value, step: int) -> list[Value]:
        return [
            register
            for read, groups in zip(self.reads, self.groups, strict=True)
            for group in range(groups)
            for register in read.fragment(slot, group, step)
        ]

    def _multiply(self, fragments: Sequence[Value], accumulators: Sequence[Value]) -> list[Value]:
        rows, columns = self.groups[0], 2 * self.groups[1]
        a = [fragments[4 * row : 4 * row + 4] for row in range(rows)]
        rest = fragments[4 * rows :]
        b = [rest[2 * column : 2 * column + 2] for column in range(columns)]
        made: list[Value] = []
        for row in range(rows):
            for column in range(columns):
                first = ACCUMULATORS * (row * columns + column)
                made += mma(
                    self.kind, a[row], b[column], accumulators[first : first + ACCUMULATORS]
                )
        return made

    def _arranged(self, accumulators: Sequence[Value]) -> list[list[list[Value]]]:
        rows, columns = self.groups[0], 2 * self.groups[1]
        tiles = [
            list(accumulators[first : first + ACCUMULATORS])
            for first in range(0, len(accumulators), ACCUMULATORS)
        ]
        return [tiles[row * columns : (row + 1) * columns] for row in range(rows)]
