# SPDX-License-Identifier: Apache-2.0
"""Thread groups of a block that race, or wait for each other."""

from __future__ import annotations

import numpy as np

from tests.unit.tile_adversaries.base import Adversary
from xtc.tile import float32, int32


class OneOfTwoConsumers(Adversary):
    """Two groups read a slot; the producer waits for only one of them before refilling it."""

    kind, sizes = "missing sync", (512, 256)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 3
        x, y = self.vector(x_ptr, 512), self.vector(y_ptr, 256)
        s = self.shared()
        full = self.mbarrier.alloc(32)
        empty = self.mbarrier.alloc(64 if self.right else 32)
        with self.single_warp(2):
            for i in range(4):
                self.mbarrier.wait(empty, phase=(i + 1) % 2)
                t = self.load_global(x, offsets=[128 * i], shape=[128])
                self.store_shared(s, t)  # OneOfTwoConsumers 2
                self.mbarrier.arrive(full)
        for reader in self.range(2, unroll="all"):
            with self.single_warp(reader):
                total = self.register_tensor(dtype=float32, shape=[128], init=0.0)
                for i in range(4):
                    self.mbarrier.wait(full, phase=i % 2)
                    total = total + self.load_shared(s)  # OneOfTwoConsumers 1
                    if self.right or reader == 0:
                        self.mbarrier.arrive(empty)
                self.store_global(y, total, offsets=[128 * reader])


class SameLayoutOtherGroup(Adversary):
    """A group loads the stores of another one, in the same layout."""

    kind = "missing sync"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        with self.single_warp(0):
            self.store_global(x, self.ones(), offsets=[0])  # SameLayoutOtherGroup 1
        if self.right:
            self.sync()
        with self.single_warp(1):
            t = self.load_global(x, offsets=[0], shape=[128])  # SameLayoutOtherGroup 2
            self.store_global(y, t, offsets=[0])


class TransposedInPlace(Adversary):
    """In place, through two views with equal layouts and offsets, and different strides."""

    kind, sizes = "missing sync", (4096, 1)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        rows = self.global_view(x_ptr, dtype=float32, shape=[64, 64])
        columns = self.global_view(x_ptr, dtype=float32, shape=[64, 64], strides=[1, 64])
        t = self.load_global(rows, offsets=[0, 0], shape=[64, 64])  # TransposedInPlace 1
        if self.right:
            self.sync()
        self.store_global(columns, t, offsets=[0, 0])  # TransposedInPlace 2


class TwoReaders(Adversary):
    """Two groups read a tile, and one of them writes it."""

    kind = "missing sync"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        with self.single_warp(0):
            t = self.load_global(x, offsets=[0], shape=[128])  # TwoReaders 1
            self.store_global(y, t, offsets=[0])
        if self.right:
            self.sync()
        with self.single_warp(1):
            u = self.load_global(x, offsets=[0], shape=[128])
            self.store_global(x, u + 1, offsets=[0])  # TwoReaders 2


class SharedAtomics(Adversary):
    """Two groups add to the same elements; one of them reads the sum."""

    kind, types = "missing sync", (np.int32, np.int32)

    def __call__(self, x_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        y = self.global_view(y_ptr, dtype=int32, shape=[128])
        s = self.shared_tensor(dtype=int32, shape=[128])
        zero = self.register_tensor(dtype=int32, shape=[128], init=0)
        self.store_shared(s, zero)
        self.sync()
        with self.single_warp(0):
            unit = self.register_tensor(dtype=int32, shape=[128], init=1)
            self.atomic.shared_add(s, unit)  # SharedAtomics 1
        if self.right:
            self.sync()
        with self.single_warp(1):
            if not self.right:
                two = self.register_tensor(dtype=int32, shape=[128], init=2)
                self.atomic.shared_add(s, two)
                self.sync()
            self.store_global(y, self.load_shared(s), offsets=[0])  # SharedAtomics 2


class WaitForEachOther(Adversary):
    """Each group waits for the other one before it arrives."""

    kind, on_simulator = "deadlock", True

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        barriers = self.mbarrier.alloc([32, 32])
        with self.single_warp(0):
            if self.right:
                self.mbarrier.arrive(barriers[1])
            self.mbarrier.wait(barriers[0], phase=0)  # WaitForEachOther 1
            if not self.right:
                self.mbarrier.arrive(barriers[1])
        with self.single_warp(1):
            self.mbarrier.wait(barriers[1], phase=0)
            self.mbarrier.arrive(barriers[0])


class SameParity(Adversary):
    """A barrier is used again, and the second wait asks for the first phase's parity."""

    kind = "early arrival"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        s = self.shared()
        full, empty = self.mbarrier.alloc(32), self.mbarrier.alloc(32)
        with self.single_warp(0):
            for i in range(2):
                self.mbarrier.wait(empty, phase=(i + 1) % 2)
                t = self.load_global(x, offsets=[0], shape=[128])
                self.store_shared(s, t + 1)
                self.mbarrier.arrive(full)
        with self.single_warp(1):
            for i in range(2):
                self.mbarrier.wait(full, phase=i if self.right else 0)
                self.store_global(y, self.load_shared(s), offsets=[0])
                self.mbarrier.arrive(empty)  # SameParity 1 2


class EarlyArrival(Adversary):
    """One of two groups arrives for the second phase without knowing that the first has ended."""

    kind = "early arrival"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        barrier = self.mbarrier.alloc(64)
        with self.single_warp(0):
            self.mbarrier.arrive(barrier)  # EarlyArrival 1
            self.mbarrier.wait(barrier, phase=0)
            self.mbarrier.arrive(barrier)
            self.mbarrier.wait(barrier, phase=1)
        with self.single_warp(1):
            self.mbarrier.arrive(barrier)
            if self.right:
                self.mbarrier.wait(barrier, phase=0)
            self.mbarrier.arrive(barrier)  # EarlyArrival 2


class MissedPhase(Adversary):
    """The phase for which a group waits, and the next one, may be over before it polls."""

    kind = "missed phase"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 3
        full, read, other = (
            self.mbarrier.alloc(32),
            self.mbarrier.alloc(32),
            self.mbarrier.alloc(32),
        )
        with self.single_warp(1):
            self.mbarrier.wait(full, phase=0)  # MissedPhase 1
            self.mbarrier.arrive(read)
        with self.single_warp(0):
            self.mbarrier.arrive(full)
            self.mbarrier.wait(full, phase=0)
            self.mbarrier.wait(other, phase=0)
            if self.right:
                self.mbarrier.wait(read, phase=0)
            self.mbarrier.arrive(full)  # MissedPhase 2
        with self.single_warp(2):
            self.mbarrier.wait(full, phase=0)
            self.mbarrier.arrive(other)


class ShiftedStore(Adversary):
    """One instruction stores to overlapping parts of a tensor."""

    kind = "missing sync"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        s = self.shared()
        for i in range(3):
            self.store_shared(s, self.ones(64) * i, offsets=[8 * i], dims=[0])  # ShiftedStore 1 2
            if self.right:
                self.sync()


class LastIteration(Adversary):
    """A sync is missing in the last iteration of a loop."""

    kind, sizes = "missing sync", (512, 512)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        x, y = self.vector(x_ptr, 512), self.vector(y_ptr, 512)
        s = self.shared()
        for i in range(4):
            t = self.load_global(x, offsets=[128 * i], shape=[128])
            self.store_shared(s, t)  # LastIteration 1
            if self.right or i < 3:
                self.sync()
            self.store_global(y, self.load_shared(s), offsets=[128 * i])  # LastIteration 2
            self.sync()


class RaggedBlock(Adversary):
    """A sync is missing in the block that extends past the end."""

    kind, sizes = "missing sync", (300, 300)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 3, 2
        x, y = self.vector(x_ptr, 300), self.vector(y_ptr, 300)
        s = self.shared()
        at = 128 * self.blockIdx.x
        self.copy_async(x, s, offsets=[at])  # RaggedBlock 1
        self.copy_async_wait_all()
        if self.right or at + 128 <= 300:
            self.sync()
        self.store_global(y, self.load_shared(s), offsets=[at])  # RaggedBlock 2


class UsedAfterFree(Adversary):
    """A tensor is freed in the first iteration, and used by a view in the second."""

    kind = "used after free"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 1
        y = self.vector(y_ptr)
        s = self.shared_tensor(dtype=float32, shape=[2, 128])
        for i in range(2):
            self.store_shared(s[i], self.ones())  # UsedAfterFree 2
            self.sync()
            self.store_global(y, self.load_shared(s[i]), offsets=[0])
            self.sync()
            if not self.right:
                self.free_shared(s)  # UsedAfterFree 1


class FreedForAnotherGroup(Adversary):
    """A group reads a part of a tensor whose memory another group may allocate."""

    kind = "freed while used"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        y = self.vector(y_ptr)
        s = self.shared_tensor(dtype=float32, shape=[2, 128])
        self.store_shared(s[0], self.ones())
        self.sync()
        with self.single_warp(0):
            self.store_global(y, self.load_shared(s[0]), offsets=[0])  # FreedForAnotherGroup 1
        if self.right:
            self.sync()
        self.free_shared(s)
        t = self.shared()
        with self.single_warp(1):
            self.store_shared(t, self.ones())  # FreedForAnotherGroup 2


class PartWaits(Adversary):
    """All threads copy; one warp waits, and the others do not."""

    kind = "read before wait"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        s = self.shared()
        self.copy_async(x, s, offsets=[0])  # PartWaits 1
        with self.single_warp(0):
            self.copy_async_wait_all()
        if self.right:
            with self.single_warp(1):
                self.copy_async_wait_all()
        self.sync()
        self.store_global(y, self.load_shared(s), offsets=[0])  # PartWaits 2


class PartCopies(Adversary):
    """A warp copies within a group; another warp of the group waits."""

    kind = "read before wait"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        s = self.shared()
        with self.warp_group(0, 2):
            with self.single_warp(1):
                self.copy_async(x, s, offsets=[0])  # PartCopies 1
            with self.single_warp(1 if self.right else 0):
                self.copy_async_wait_all()
            self.sync()
            self.store_global(y, self.load_shared(s), offsets=[0])  # PartCopies 2


class SoftmaxInPlace(Adversary):
    """A row's softmax in place; the wrong one reads a part of the next row."""

    kind, on_simulator, sizes = "two blocks", True, (1024, 1)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 8, 1
        x = self.vector(x_ptr, 1024)
        at = 128 * self.blockIdx.x
        t = self.load_global(x, offsets=[at], shape=[128])
        if not self.right:
            t = t + self.load_global(x, offsets=[at + 128], shape=[128])  # SoftmaxInPlace 1
            self.sync()
        t = self.exp(t - self.max(t, dim=0, keepdim=True))
        t = t / self.sum(t, dim=0, keepdim=True)
        self.store_global(x, t, offsets=[at])  # SoftmaxInPlace 2


class ReplicatedState(Adversary):
    """A state of each row, replicated over threads, is updated in place and used by all."""

    kind, sizes = "missing sync", (32, 1024)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x = self.global_view(x_ptr, dtype=float32, shape=[32, 1])
        y = self.global_view(y_ptr, dtype=float32, shape=[32, 32])
        t = self.load_global(y, offsets=[0, 0], shape=[32, 32])
        state = self.load_global(x, offsets=[0, 0], shape=[32, 1])  # ReplicatedState 1
        most = self.maximum(state, self.max(t, dim=1, keepdim=True))
        if self.right:
            self.sync()
        self.store_global(x, most, offsets=[0, 0])  # ReplicatedState 2
        self.store_global(y, t * (state - most), offsets=[0, 0])


class BlockThenGroups(Adversary):
    """All threads store; each half arrives, and a thread that waits for both halves reads."""

    kind = "missing sync"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        y = self.vector(y_ptr)
        s = self.shared()
        barrier = self.mbarrier.alloc(64 if self.right else 32)
        self.store_shared(s, self.ones())  # BlockThenGroups 1
        with self.single_warp(0):
            self.mbarrier.arrive(barrier)
        with self.single_warp(1):
            if self.right:
                self.mbarrier.arrive(barrier)
            self.mbarrier.wait(barrier, phase=0)
            self.store_global(y, self.load_shared(s), offsets=[0])  # BlockThenGroups 2


class CopySourceOverwritten(Adversary):
    """Global memory that a copy in flight reads is written."""

    kind = "read before wait"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        x = self.vector(x_ptr)
        s = self.shared()
        self.copy_async(x, s, offsets=[0])  # CopySourceOverwritten 1
        if self.right:
            self.copy_async_wait_all()
        self.sync()
        self.store_global(x, self.ones(), offsets=[0])  # CopySourceOverwritten 2
        self.copy_async_wait_all()


class ScatteredTwice(Adversary):
    """Two elements of a scattered store have the same index."""

    kind = "one place"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        x = self.vector(x_ptr)
        step = 1 if self.right else 2
        where = self.register_tensor(dtype=int32, shape=[64], init=lambda i: i // step)
        value = self.register_tensor(dtype=float32, shape=[64], init=lambda i: i * 1.0)
        self.store_global_scatter(x, dim=0, indices=where, values=value)  # ScatteredTwice 2
