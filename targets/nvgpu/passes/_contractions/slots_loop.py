# SPDX-License-Identifier: Apache-2.0
"""The loop of a contraction over tiles of K, with buffer slots that threads fill."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xtc.core.tile_layout import RegisterLayout
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
from xtc_targets.nvgpu.passes._contractions.mma_operand import GlobalOperand, OperandSlots
from xtc_targets.nvgpu.passes._contractions.mma_tiling import Tiling
from xtc_targets.nvgpu.passes._thread_code import as_i32


class SlotsLoop(ABC):
    """The accumulation of a block's tile.

    Slot s of shared memory has tile s, s + slots, ... of both operands. While a tile is computed
    with, the next `ahead` ones are on their way.
    """

    def __init__(
        self, tiling: Tiling, operands: tuple[GlobalOperand, GlobalOperand], ahead: int
    ) -> None:
        self.tiling, self.ahead, kind = tiling, ahead, operands[0].kind
        self.k_size = tiling.k_bytes // kind.nbytes
        extent = MemRefType(operands[0].view.type).shape[operands[0].k]
        self.tiles = -(-extent // self.k_size)
        self.slots = [
            OperandSlots(operand, size, self.k_size, tiling.slots)
            for operand, size in zip(operands, (tiling.m, tiling.n), strict=True)
        ]

    def write(self) -> Value:
        """Write the loop, release the slots, and return the accumulators."""
        for slot in range(min(self.ahead, self.tiles)):
            self._copy(slot, slot)
            tile.commit_group()
        for _ in range(self.ahead - self.tiles):
            tile.commit_group()
        initial = self._initial()
        with control.loop(as_i32(0), self.tiles, 1, initial) as loop:
            self._iteration(loop)
        self._end()
        for operand in self.slots:
            operand.free()
        return loop.results[-1]

    @abstractmethod
    def _initial(self) -> list[Value]:
        """The initial values of the loop-carried variables, the accumulators last."""

    @abstractmethod
    def _iteration(self, loop: control.Loop) -> None:
        """Compute with a tile, and begin to copy a later one."""

    def _end(self) -> None:  # noqa: B027  most need no wait
        """Wait for operations of the last iteration that are still in flight."""

    def _copy_ahead(self, loop: control.Loop, slot: Value) -> None:
        """Begin to copy the tile `ahead` iterations later, as a commit group."""
        number = add(loop.index, self.ahead)
        there = compare("ult", number, self.tiles)
        with branch(there):
            tile.assume(there)
            self._copy(number, slot)
        tile.commit_group()

    def _following(self, slot: Value) -> Value:
        """The next slot."""
        following = add(slot, 1)
        is_slot = compare("ult", following, self.tiling.slots)
        return arith.select(is_slot, following, as_i32(0))

    def _zeros(self, layout: RegisterLayout) -> Value:
        f32 = F32Type.get()
        plain = RankedTensorType.get([self.tiling.m, self.tiling.n], f32)
        type = with_layout(plain, layout)
        return arith.constant(type, DenseElementsAttr.get_splat(type, FloatAttr.get(f32, 0.0)))

    def _copy(self, number: Number, slot: Number) -> None:
        for operand in self.slots:
            operand.copy(number, slot)
