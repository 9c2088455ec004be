# SPDX-License-Identifier: Apache-2.0
"""Tile kernels that flags control, in registers and between blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

from xtc import tile
from xtc.tile import float32, int32


@dataclass
class Shape:
    """Tuning parameters in a record, which has no hash."""

    block: int = 64
    factors: list[float] = field(default_factory=lambda: [2.0, 1.0])


class WorkQueue(tile.Script):
    """Blocks take parts from a counter until none is left; a flag ends the loop."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape

    def __call__(self, n: int32, counter_ptr: ~int32, x_ptr: ~float32):
        block = self.shape.block
        self.attrs.blocks = 3
        self.attrs.warps = 2
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        counter = self.global_view(counter_ptr, dtype=int32, shape=[1])
        s = self.shared_tensor(dtype=int32, shape=[1])
        done = False
        while not done:
            with self.single_warp(0):
                unit = self.register_tensor(dtype=int32, shape=[1], init=1)
                got = self.register_tensor(dtype=int32, shape=[1])
                self.atomic.global_add(counter, unit, output=got)
                self.store_shared(s, got)
            self.sync()
            at = s[0].item() * block
            self.sync()
            if at >= n:
                done = True
            else:
                value = self.load_global(x, offsets=[at], shape=[block])
                for factor in self.shape.factors:
                    value = value * factor
                self.store_global(x, value, offsets=[at])


class LastBlock(tile.Script):
    """The block that arrives last adds the sums of all, and resets the counter."""

    def __init__(self, order="acq_rel"):
        super().__init__()
        self.order = order

    def __call__(self, n: int32, counter_ptr: ~int32, x_ptr: ~float32, y_ptr: ~float32):
        blocks = self.utils.cdiv(n, 128)
        self.attrs.blocks = blocks
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        y = self.global_view(y_ptr, dtype=float32, shape=[1])
        counter = self.global_view(counter_ptr, dtype=int32, shape=[1])
        parts = self.global_tensor(dtype=float32, shape=[blocks])
        own = self.load_global(x, offsets=[self.blockIdx.x * 128], shape=[128])
        self.store_global(parts, self.sum(own, dim=0, keepdim=True), offsets=[self.blockIdx.x])
        self.sync()
        unit = self.register_tensor(dtype=int32, shape=[1], init=1)
        before = self.atomic.global_add(counter, unit, sem=self.order)
        self.sync()
        if before.item() == blocks - 1:
            total = self.register_tensor(dtype=float32, shape=[32], init=0.0)
            for at in range(0, blocks, 32):
                total += self.load_global(parts, offsets=[at], shape=[32])
            self.store_global(y, self.sum(total, dim=0, keepdim=True), offsets=[0])
            self.store_global(counter, unit - 1, offsets=[0])
