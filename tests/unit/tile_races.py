# SPDX-License-Identifier: Apache-2.0
"""Tile kernels with a race each; marks identify lines."""

from __future__ import annotations

from xtc import tile
from xtc.tile import float32, int32, void_p


class Base(tile.Script):
    def begin(self, n, x_ptr):
        self.attrs.blocks = self.utils.cdiv(n, 128)
        self.attrs.warps = 1
        return self.global_view(x_ptr, dtype=float32, shape=[n]), 128 * self.blockIdx.x

    def shared(self):
        return self.shared_tensor(dtype=float32, shape=[128])

    def values(self):
        return self.register_tensor(dtype=float32, shape=[128], init=1.0)


class Unwritten(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        x, at = self.begin(n, x_ptr)
        self.store_global(x, self.load_shared(self.shared()), offsets=[at])  # unwritten


class TwoStores(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        self.begin(n, x_ptr)
        s = self.shared()
        self.store_shared(s, self.values())  # two 1
        self.store_shared(s, self.values() + 1)  # two 2


class Refilled(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        x, at = self.begin(n, x_ptr)
        s = self.shared()
        self.store_shared(s, self.values())
        self.sync()
        self.store_global(x, self.load_shared(s), offsets=[at])  # refilled 1
        self.store_shared(s, self.values())  # refilled 2


class TwoCopies(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        x, at = self.begin(n, x_ptr)
        s = self.shared()
        self.copy_async(x, s, offsets=[at])  # copies 1
        self.copy_async(x, s, offsets=[at])  # copies 2


class GroupTooEarly(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        x, at = self.begin(n, x_ptr)
        s, t = self.shared(), self.shared()
        self.copy_async(x, s, offsets=[at])
        self.copy_async_commit_group()
        self.copy_async(x, t, offsets=[at])  # group 1
        self.copy_async_commit_group()
        self.copy_async_wait_group(1)
        self.sync()
        self.store_shared(s, self.load_shared(t))  # group 2


class FreedInFlight(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        x, at = self.begin(n, x_ptr)
        s = self.shared()
        self.copy_async(x, s, offsets=[at])  # flight 1
        self.free_shared(s)  # flight 2


class FreedWhileRead(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        x, at = self.begin(n, x_ptr)
        s = self.shared()
        self.store_shared(s, self.values())
        self.sync()
        self.store_global(x, self.load_shared(s), offsets=[at])  # freed 1
        self.free_shared(s)
        t = self.shared()
        self.store_shared(t, self.values())  # freed 2


class AllBlocks(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        x, _ = self.begin(n, x_ptr)
        self.store_global(x, self.values(), offsets=[0])  # blocks


class GlobalExchange(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        x, at = self.begin(n, x_ptr)
        self.store_global(x, self.values(), offsets=[at])  # exchange 1
        self.load_global(x, offsets=[at + 1], shape=[64])  # exchange 2


class InPlace(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        x, at = self.begin(n, x_ptr)
        t = self.load_global(x, offsets=[at], shape=[128])  # beyond
        self.store_global(x, t * 2, offsets=[at])


class FewInPlace(Base):
    """Several threads hold each element; the first one of them stores it."""

    def __call__(self, n: int32, x_ptr: ~float32):
        x, at = self.begin(n, x_ptr)
        self.attrs.warps = 4
        t = self.load_global(x, offsets=[at], shape=[32])
        self.store_global(x, self.sqrt(t) + t, offsets=[at])


class SameElements(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        x, at = self.begin(n, x_ptr)
        t = self.load_global(x, offsets=[at], shape=[128])
        self.store_global(x, t, offsets=[at])
        self.store_global(x, t + 1, offsets=[at])


class AtomicInPlace(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        _, at = self.begin(n, x_ptr)
        part = self.global_view(x_ptr + at, dtype=float32, shape=[128])
        if at + 128 <= n:
            t = self.load_global(part, offsets=[0], shape=[128])
            self.store_global(part, t, offsets=[0])
            self.atomic.global_add(part, t)
            self.store_global(part, t + 1, offsets=[0])


class Assumes(Base):
    def __call__(self, n: int32, x_ptr: ~float32):
        self.assume(n % 4 == 0)  # assumed
        x, at = self.begin(n, x_ptr)
        self.store_global(x, self.values(), offsets=[at])


class Steps(Base):
    def __init__(self, breaks):
        super().__init__()
        self.breaks = breaks

    def __call__(self, step: int32, x_ptr: ~float32):
        x, _ = self.begin(128, x_ptr)
        if self.breaks:
            for i in range(0, 4, step):  # breaks
                self.store_global(x, self.values() * i, offsets=[0])
                if i == 3:
                    break
        else:
            for i in range(0, 4, step):  # counts
                self.store_global(x, self.values() * i, offsets=[0])


class Byte(tile.Script):
    def __call__(self, n: int32, x_ptr: void_p):
        self.attrs.blocks, self.attrs.warps = 1, 1
        x = self.global_view(x_ptr, dtype=tile.int4b, shape=[64])
        t = self.load_global(x, offsets=[n], shape=[32])  # byte
        self.store_global(x, t, offsets=[0])


class AllocatedInALoop(tile.Script):
    """A tensor of each iteration reuses the memory of the previous one."""

    def __init__(self, ordered=False):
        super().__init__()
        self.ordered = ordered

    def __call__(self, n: int32, x_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        for at in range(0, n, 128):
            s = self.shared_tensor(dtype=float32, shape=[128])
            self.store_shared(s, self.load_global(x, offsets=[at], shape=[128]))  # made 2
            self.sync()
            t = self.load_shared(s)  # made 1
            self.store_global(x, t + 1, offsets=[at])
            if self.ordered:
                self.sync()


class AllocatedInBranches(tile.Script):
    """A loop's tensor is freed after it, and another tensor may reuse its memory."""

    def __call__(self, n: int32, x_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        if n > 0:
            s = self.shared_tensor(dtype=float32, shape=[128])
            self.store_shared(s, self.load_global(x, offsets=[0], shape=[128]))
            self.sync()
            self.store_global(x, self.load_shared(s) + 1, offsets=[0])  # branch 1
        t = self.shared_tensor(dtype=float32, shape=[128])
        self.store_shared(t, self.load_global(x, offsets=[128], shape=[128]))  # branch 2
        self.sync()
        self.store_global(x, self.load_shared(t) + 1, offsets=[128])
