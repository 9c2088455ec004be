# SPDX-License-Identifier: Apache-2.0
"""Tile kernels whose thread groups wait for each other at mbarriers; marks identify lines."""

from __future__ import annotations

from xtc import tile
from xtc.tile import float32, int32, uint32


class Slots(tile.Class):
    """Slots of shared memory that one group fills and another one drains."""

    def __init__(self, slots, fillers, readers):
        self.slots = slots
        self.full = self.mbarrier.alloc([fillers for _ in range(slots)])
        self.empty = self.mbarrier.alloc([readers for _ in range(slots)])
        self.slot: int32 = 0
        self.phase: uint32 = 0

    def advance(self):
        self.slot = (self.slot + 1) % self.slots
        self.phase = self.phase ^ (self.slot == 0)


class SumInGroups(tile.Script):
    """y[j] = the sum over i of 2 x[128 i + j]: a warp loads, four warps add."""

    def __call__(self, n: int32, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 5
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        y = self.global_view(y_ptr, dtype=float32, shape=[128])
        s = self.shared_tensor(dtype=float32, shape=[4, 128])
        pipe = Slots(4, 32, 128)
        acc = self.register_tensor(dtype=float32, shape=[128], init=0.0)
        with self.thread_group(thread_begin=128, num_threads=32):
            for i in range(0, n, 128):
                self.mbarrier.wait(pipe.empty[pipe.slot], phase=pipe.phase ^ 1)  # empty
                t = self.load_global(x, offsets=[i], shape=[128])
                self.store_shared(s[pipe.slot], t * 2)
                self.mbarrier.arrive(pipe.full[pipe.slot])  # filled
                pipe.advance()
        with self.thread_group(thread_begin=0, num_threads=128):
            phases = self.register_tensor(dtype=uint32, shape=[4], init=0)
            for _ in range(0, n, 128):
                self.mbarrier.wait(pipe.full[pipe.slot], phase=phases[pipe.slot])  # full
                phases[pipe.slot] ^= 1  # turn
                self.add(acc, self.load_shared(s[pipe.slot]), out=acc)
                self.mbarrier.arrive(pipe.empty[pipe.slot])  # emptied
                pipe.advance()
            self.store_global(y, acc, offsets=[0])


class RowSumsInGroups(tile.Script):
    """Two groups of two warps each reduce, convert and exchange through shared memory."""

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float32, shape=[64, 64])
        y = self.global_view(y_ptr, dtype=float32, shape=[64])
        s = self.shared_tensor(dtype=float32, shape=[2, 32])
        for half in self.range(2, unroll="all"):
            with self.warp_group(2 * half, 2):
                t = self.load_global(x, offsets=[32 * half, 0], shape=[32, 64])
                self.store_shared(s[half], self.sum(t, dim=1))
                self.sync()  # group
                u = self.load_shared(s[half])
                self.store_global(y, u + self.cumsum(u, dim=0), offsets=[32 * half])


class OneThread(tile.Script):
    """One thread signals the others, at a barrier of the block."""

    def __call__(self, n: int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        y = self.global_view(y_ptr, dtype=int32, shape=[64])
        s = self.shared_tensor(dtype=int32, shape=[1])
        with self.single_thread():
            self.store_shared(s, self.register_tensor(dtype=int32, shape=[1], init=n))
        self.sync()  # block
        self.store_global(
            y,
            self.load_shared(s).item()
            + self.register_tensor(dtype=int32, shape=[64], init=lambda i: i),
            offsets=[0],
        )


class UsedElsewhere(tile.Script):
    def __call__(self, x_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        x = self.global_view(x_ptr, dtype=float32, shape=[64])
        t = self.load_global(x, offsets=[0], shape=[64])
        with self.single_warp(1):
            self.store_global(x, t, offsets=[0])


class SumUsedElsewhere(tile.Script):
    def __call__(self, x_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        x = self.global_view(x_ptr, dtype=float32, shape=[64])
        total = self.sum(self.load_global(x, offsets=[0], shape=[64]), dim=0, keepdim=True)
        with self.single_thread():
            self.store_global(x, total, offsets=[0])


class UsedAfter(tile.Script):
    def __call__(self, x_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        x = self.global_view(x_ptr, dtype=float32, shape=[64])
        t = self.register_tensor(dtype=float32, shape=[64], init=0.0)
        with self.single_warp():
            self.add(t, 1.0, out=t)
        self.store_global(x, t, offsets=[0])


class TooManyThreads(tile.Script):
    def __call__(self, x_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        with self.thread_group(32, 64):
            self.sync()


class HalfAWarp(tile.Script):
    def __call__(self, x_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        with self.thread_group(0, 16):
            self.sync()


class TooManyArrivals(tile.Script):
    def __call__(self, x_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        barrier = self.mbarrier.alloc(1)
        with self.single_warp():
            self.mbarrier.arrive(barrier)


class Counter(tile.Class):
    """A run-time number."""

    def __init__(self):
        self.count: int32 = 0


class CountedInGroups(tile.Script):
    """Threads of nested groups count in an attribute, of which other groups know other values."""

    def __call__(self, n: int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        y = self.global_view(y_ptr, dtype=int32, shape=[2])
        counter = Counter()
        with self.single_warp(1), self.single_thread():
            for number in range(n):
                counter.count += number
            self.put(y, 0, counter.count)
        with self.single_warp(2):
            counter.count += 5
            self.put(y, 1, counter.count)

    def put(self, y, at, value):
        count = self.register_tensor(dtype=int32, shape=[1], init=value)
        self.store_global(y, count, offsets=[at])


class CountedInLoop(tile.Script):
    """A thread counts what all threads carry from one iteration to the next."""

    def __call__(self, n: int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        count: int32 = 0
        for number in range(n):  # loop
            with self.single_thread():
                count += number
