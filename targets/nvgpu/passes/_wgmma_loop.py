# SPDX-License-Identifier: Apache-2.0
"""The loop of a contraction over tiles of K by a warpgroup, which multiplies from shared memory."""

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
from xtc_targets.nvgpu.passes._mma_contraction import Kind
from xtc_targets.nvgpu.passes._mma_operand import GlobalOperand, OperandSlots
from xtc_targets.nvgpu.passes._mma_tiling import Tiling
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tile_wgmma import WARPGROUP, sum_layout

_ROWS = 64
"""Of which what a warpgroup multiplies is a multiple."""


def declined(tiling: Tiling, kind: Kind) -> str:
    """Why warpgroups do not compute a contraction's tiles; empty where they do."""
    if kind.nbytes != 2:
        return f"operands of {kind.name}"
    if tiling.m % _ROWS or tiling.threads % WARPGROUP:
        return f"tiles of {tiling.m}x{tiling.n}: warpgroups take multiples of {_ROWS} rows"
    return ""


class WarpgroupLoop:
    """The accumulation of a block's tile.

    Slot s of shared memory has tile s, s + slots, ... of both operands. While a tile is multiplied,
    the next ones are on their way:

        begin to copy tiles 0 .. slots - 2
        for each tile:
            wait for it, fence, barrier: all see it, and have left the one before
            begin to multiply it
            begin to copy the tile slots - 1 ahead, to the slot that all have left
            wait for the multiplication

    No fragment is loaded: the operands go from shared memory to the tensor cores.
    """

    def __init__(self, tiling: Tiling, operands: tuple[GlobalOperand, GlobalOperand]) -> None:
        self.tiling, kind = tiling, operands[0].kind
        k_size = tiling.k_bytes // kind.nbytes
        extent = MemRefType(operands[0].view.type).shape[operands[0].k]
        self.tiles = -(-extent // k_size)
        self.slots = [
            OperandSlots(operand, size, k_size, tiling.slots)
            for operand, size in zip(operands, (tiling.m, tiling.n), strict=True)
        ]

    def write(self) -> Value:
        """The accumulators; what the operands' tiles lay in is free then."""
        count = self.tiling.slots
        for slot in range(count - 1):
            if slot < self.tiles:
                self._copy(slot, slot)
            tile.commit_group()
        # The slot that is read first, and the one that was read before it and is written next.
        initial = [as_i32(0), as_i32(count - 1), self._zeros()]
        with control.loop(as_i32(0), self.tiles, 1, initial) as loop:
            self._iteration(loop)
        for operand in self.slots:
            operand.free()
        return loop.results[-1]

    def _zeros(self) -> Value:
        f32, (m, n) = F32Type.get(), (self.tiling.m, self.tiling.n)
        layout = sum_layout(m, n, self.tiling.threads)
        type = with_layout(RankedTensorType.get([m, n], f32), layout)
        return arith.constant(type, DenseElementsAttr.get_splat(type, FloatAttr.get(f32, 0.0)))

    def _iteration(self, loop: control.Loop) -> None:
        read, written, total = loop.carried
        tile.wait_group(self.tiling.slots - 2)
        tile.fence_proxy("shared")
        tile.sync()
        tile.wgmma_fence()
        made = tile.wgmma(self.slots[0].whole(read, is_a=True), self.slots[1].whole(read), total)
        made.set_type(total.type)
        tile.wgmma_commit()
        ahead = add(loop.index, self.tiling.slots - 1)
        there = compare("ult", ahead, self.tiles)
        with branch(there):
            tile.assume(there)
            self._copy(ahead, written)
        tile.commit_group()
        tile.wgmma_wait(0)
        following = add(read, 1)
        last = compare("ult", following, self.tiling.slots)
        following = arith.select(last, following, as_i32(0))
        loop.following = [following, read, made]

    def _copy(self, number: Number, slot: Number) -> None:
        for operand in self.slots:
            operand.copy(number, slot)
