# SPDX-License-Identifier: Apache-2.0
"""The loop of a contraction over tiles of K: copies ahead, and dots of what has arrived."""

from __future__ import annotations

from xtc.ir.builders import control, tile
from xtc.ir.builders.control import branch
from xtc.ir.builders.numbers import Number, add, compare
from xtc.ir.mlir import (
    DenseElementsAttr,
    F32Type,
    FloatAttr,
    MemRefType,
    RankedTensorType,
    Value,
    arith,
)
from xtc.ir.tile_dialect import with_layout
from xtc_targets.nvgpu.passes._mma_operand import GlobalOperand, OperandSlots
from xtc_targets.nvgpu.passes._mma_tiling import Tiling
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tile_dot import step_layouts


class MmaLoop:
    """The accumulation of a block's tile.

    Slot s of shared memory has tile s, s + slots, ... of both operands. While a tile is computed
    with, the next ones are on their way; fragments of a step are loaded before the dot of the step
    before, also across tiles:

        begin to copy tiles 0 .. slots - 2
        wait for tile 0, barrier, load its fragments of step 0
        for each tile:
            begin to copy the tile slots - 1 ahead, to the slot that all have left
            for each step: load the fragments of the next one, dot
            before those of the next tile: wait until it is there, barrier
    """

    def __init__(self, tiling: Tiling, operands: tuple[GlobalOperand, GlobalOperand]) -> None:
        self.tiling, kind = tiling, operands[0].kind
        k_size = tiling.k_bytes // kind.nbytes
        extent = MemRefType(operands[0].view.type).shape[operands[0].k]
        self.tiles, self.steps = -(-extent // k_size), k_size // kind.step
        self.layouts = step_layouts(tiling.m, tiling.n, tiling.warps, kind.nbytes)
        self.slots = [
            OperandSlots(operand, size, k_size, tiling.slots)
            for operand, size in zip(operands, (tiling.m, tiling.n), strict=True)
        ]

    def write(self) -> Value:
        """The accumulators; what the operands' tiles lay in is free then."""
        count = self.tiling.slots
        for slot in range(min(count - 1, self.tiles)):
            self._copy(slot, slot)
            tile.commit_group()
        for _ in range(count - 1 - self.tiles):
            tile.commit_group()
        self._wait()
        # The slot that is read first, and the one that was read before it and is written next.
        initial = [as_i32(0), as_i32(count - 1), *self._fragments(0, 0), self._zeros()]
        with control.loop(as_i32(0), self.tiles, 1, initial) as loop:
            self._iteration(loop)
        for operand in self.slots:
            operand.free()
        return loop.results[-1]

    def _zeros(self) -> Value:
        f32 = F32Type.get()
        plain = RankedTensorType.get([self.tiling.m, self.tiling.n], f32)
        type = with_layout(plain, self.layouts.c)
        return arith.constant(type, DenseElementsAttr.get_splat(type, FloatAttr.get(f32, 0.0)))

    def _iteration(self, loop: control.Loop) -> None:
        read, written, a, b, total = loop.carried
        ahead = add(loop.index, self.tiling.slots - 1)
        there = compare("ult", ahead, self.tiles)
        with branch(there):
            tile.assume(there)
            self._copy(ahead, written)
        tile.commit_group()
        following = add(read, 1)
        last = compare("ult", following, self.tiling.slots)
        following = arith.select(last, following, as_i32(0))
        for step in range(self.steps):
            if step + 1 < self.steps:
                fragments = self._fragments(read, step + 1)
            else:
                self._wait()
                fragments = self._fragments(following, 0)
            total = self._dot(a, b, total)
            a, b = fragments
        loop.following = [following, read, a, b, total]

    def _copy(self, number: Number, slot: Number) -> None:
        for operand in self.slots:
            operand.copy(number, slot)

    def _wait(self) -> None:
        """Wait until all threads have the oldest tile in flight, and have left the one before."""
        tile.wait_group(self.tiling.slots - 2)
        tile.sync()

    def _fragments(self, slot: Number, step: int) -> list[Value]:
        layouts = (self.layouts.a, self.layouts.b)
        return [
            operand.step(slot, step, layout, is_a=number == 0)
            for number, (operand, layout) in enumerate(zip(self.slots, layouts, strict=True))
        ]

    def _dot(self, a: Value, b: Value, total: Value) -> Value:
        made = tile.dot(a, b, total)
        made.set_type(total.type)
        return made
