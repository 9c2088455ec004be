# SPDX-License-Identifier: Apache-2.0
"""The loop of a contraction over tiles of K for warps: copies ahead, and dots from fragments."""

from __future__ import annotations

from xtc.ir.attributes import K_STEP
from xtc.ir.builders import control, tile
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import IntegerAttr, IntegerType, Value
from xtc_targets.nvgpu.passes._contractions.mma_operand import GlobalOperand
from xtc_targets.nvgpu.passes._contractions.mma_tiling import Tiling
from xtc_targets.nvgpu.passes._contractions.slots_loop import SlotsLoop
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tiles.dot import step_layouts


class MmaLoop(SlotsLoop):
    """The accumulation by warps, from fragments.

    The fragments of a step are loaded before the dot of the previous step, also across tiles:

        begin to copy tiles 0 .. slots - 2
        wait for tile 0, barrier, load its fragments of step 0
        for each tile:
            begin to copy the tile slots - 1 ahead, to the slot that all have left
            for each step: load the fragments of the next one, dot
            before fragments of the next tile: wait for the tile, barrier
    """

    def __init__(self, tiling: Tiling, operands: tuple[GlobalOperand, GlobalOperand]) -> None:
        super().__init__(tiling, operands, tiling.slots - 1)
        kind = operands[0].kind
        self.step = kind.step
        self.steps = self.k_size // self.step
        self.layouts = step_layouts(tiling.m, tiling.n, tiling.warps, kind.nbytes)

    def _initial(self) -> list[Value]:
        self._wait()
        # The slot that is read first, and the previous one, which is written next.
        slots = [as_i32(0), as_i32(self.ahead)]
        return [*slots, *self._fragments(0, 0), self._zeros(self.layouts.c)]

    def _iteration(self, loop: control.Loop) -> None:
        read, written, a, b, total = loop.carried
        self._copy_ahead(loop, written)
        following = self._following(read)
        for step in range(self.steps):
            if step + 1 < self.steps:
                fragments = self._fragments(read, step + 1)
            else:
                self._wait()
                fragments = self._fragments(following, 0)
            total = self._dot(a, b, total)
            a, b = fragments
        loop.following = [following, read, a, b, total]

    def _wait(self) -> None:
        """Wait until all threads see the oldest tile in flight, and none uses the previous one."""
        tile.wait_group(self.ahead - 1)
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
        made.owner.attributes[K_STEP] = IntegerAttr.get(IntegerType.get_signless(64), self.step)
        return made
