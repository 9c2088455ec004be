# SPDX-License-Identifier: Apache-2.0
"""Blocks of a launch that race: semaphores, atomic instructions and overlapping tiles."""

from __future__ import annotations

import numpy as np

from tests.unit.tile_adversaries.base import Adversary
from xtc.tile import float16, float32, int32, void_p


class ThirdBlock(Adversary):
    """Block 1 waits for the writes of block 0; block 2 does not."""

    kind, on_simulator = "two blocks", True

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 3, 1
        x, y = self.vector(x_ptr), self.vector(y_ptr, 384)
        turn = self.semaphore()[0].item_ptr()
        if self.blockIdx.x == 0:
            self.store_global(x, self.ones(), offsets=[0])  # ThirdBlock 1
            self.sync()
            self.release_semaphore(turn, 1)
        else:
            if self.right or self.blockIdx.x == 1:
                self.lock_semaphore(turn, 1)
            t = self.load_global(x, offsets=[0], shape=[128])  # ThirdBlock 2
            self.store_global(y, t, offsets=[128 * self.blockIdx.x])

    sizes = (128, 384)


class TwoSemaphores(Adversary):
    """Block 2 waits for block 1, which has to wait for block 0."""

    kind, on_simulator = "two blocks", True

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 3, 1
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        turns = self.semaphore(2)
        if self.blockIdx.x == 0:
            self.store_global(x, self.ones(), offsets=[0])  # TwoSemaphores 1
            self.sync()
            self.release_semaphore(turns[0].item_ptr(), 1)
        if self.blockIdx.x == 1:
            if self.right:
                self.lock_semaphore(turns[0].item_ptr(), 1)
            self.release_semaphore(turns[1].item_ptr(), 1)
        if self.blockIdx.x == 2:
            self.lock_semaphore(turns[1].item_ptr(), 1)
            t = self.load_global(x, offsets=[0], shape=[128])  # TwoSemaphores 2
            self.store_global(y, t, offsets=[0])


class ReleasedBeforeSync(Adversary):
    """A release publishes only what its block did before the last sync."""

    kind, on_simulator = "two blocks", True

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 2, 4
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        turn = self.semaphore()[0].item_ptr()
        if self.blockIdx.x == 0:
            self.store_global(x, self.ones(), offsets=[0])  # ReleasedBeforeSync 1
            if self.right:
                self.sync()
            self.release_semaphore(turn, 1)
        else:
            self.lock_semaphore(turn, 1)
            t = self.load_global(x, offsets=[0], shape=[128])  # ReleasedBeforeSync 2
            self.store_global(y, t, offsets=[0])


class GroupReleases(Adversary):
    """One group stores and another releases, without synchronization between them."""

    kind, on_simulator = "two blocks", True

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 2, 2
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        turn = self.semaphore()[0].item_ptr()
        if self.blockIdx.x == 0:
            with self.single_warp(1):
                self.store_global(x, self.ones(), offsets=[0])  # GroupReleases 1
                self.sync()
            if self.right:
                self.sync()
            with self.single_warp(0):
                self.sync()
                self.release_semaphore(turn, 1)
        else:
            self.lock_semaphore(turn, 1)
            t = self.load_global(x, offsets=[0], shape=[128])  # GroupReleases 2
            self.store_global(y, t, offsets=[0])


class RepeatedValue(Adversary):
    """A semaphore is set to the same value twice: a waiting block may observe the first time."""

    kind = "two blocks"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 2, 1
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        turn = self.semaphore()[0].item_ptr()
        last = 2 if self.right else 1
        if self.blockIdx.x == 0:
            self.release_semaphore(turn, 1)
            self.store_global(x, self.ones(), offsets=[0])  # RepeatedValue 1
            self.sync()
            self.release_semaphore(turn, last)
        else:
            self.lock_semaphore(turn, last)
            t = self.load_global(x, offsets=[0], shape=[128])  # RepeatedValue 2
            self.store_global(y, t, offsets=[0])


class Halo(Adversary):
    """In place, each block reads two elements of the next block."""

    kind, on_simulator, sizes = "two blocks", True, (512, 512)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 4, 1
        x, y = self.vector(x_ptr, 512), self.vector(y_ptr, 512)
        at = 128 * self.blockIdx.x
        t = self.load_global(x, offsets=[at], shape=[128])
        u = self.load_global(x, offsets=[at + 2], shape=[128])  # Halo 1
        self.sync()
        self.store_global(y if self.right else x, t + u, offsets=[at])  # Halo 2


class ReadByAll(Adversary):
    """All blocks read an element that the last one writes."""

    kind, on_simulator, sizes = "two blocks", True, (128, 512)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 4, 1
        x, y = self.vector(x_ptr), self.vector(y_ptr, 512)
        t = self.load_global(x, offsets=[0], shape=[128])  # ReadByAll 1
        self.store_global(y, t, offsets=[128 * self.blockIdx.x])
        if not self.right and self.blockIdx.x == 3:
            self.store_global(x, t + 1, offsets=[0])  # ReadByAll 2


class Overlapping(Adversary):
    """The last tile begins earlier, so that it does not extend past the end."""

    kind, on_simulator, sizes = "two blocks", True, (300, 300)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 3, 1
        x, y = self.vector(x_ptr, 300), self.vector(y_ptr, 300)
        at = 128 * self.blockIdx.x
        if not self.right:
            at = min(at, 300 - 128)
        t = self.load_global(x, offsets=[at], shape=[128])
        self.store_global(y, t, offsets=[at])  # Overlapping 1 2


class SplitWithoutLock(Adversary):
    """Blocks add their partial sums to one tile."""

    kind, on_simulator, sizes = "two blocks", True, (512, 128)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 4, 2
        x, y = self.vector(x_ptr, 512), self.vector(y_ptr)
        part = self.blockIdx.x
        turn = self.semaphore()[0].item_ptr()
        t = self.load_global(x, offsets=[128 * part], shape=[128])
        if self.right:
            self.lock_semaphore(turn, part)
        t = t + self.load_global(y, offsets=[0], shape=[128])  # SplitWithoutLock 2
        self.sync()
        self.store_global(y, t, offsets=[0])  # SplitWithoutLock 1
        self.sync()
        if self.right:
            self.release_semaphore(turn, part + 1)


class LastBlock(Adversary):
    """The last block adds the results of all blocks."""

    kind, on_simulator, sizes = "two blocks", True, (512, 128)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 4, 2
        x, y = self.vector(x_ptr, 512), self.vector(y_ptr)
        count = self.semaphore()
        came = self.shared_tensor(dtype=int32, shape=[1])
        self.store_global(x, self.ones(), offsets=[128 * self.blockIdx.x])  # LastBlock 1
        self.sync()
        with self.single_thread():
            unit = self.register_tensor(dtype=int32, shape=[1], init=1)
            order = "acq_rel" if self.right else "relaxed"
            self.store_shared(came, self.atomic.global_add(count, unit, sem=order))
        self.sync()
        if self.load_shared(came).item() == 3:
            t = self.register_tensor(dtype=float32, shape=[128], init=0.0)
            for part in range(4):
                t = t + self.load_global(x, offsets=[128 * part], shape=[128])  # LastBlock 2
            self.store_global(y, t, offsets=[0])


class AcquiredByOneThread(Adversary):
    """One thread acquires the release of another block, the others after a sync."""

    kind, on_simulator = "two blocks", True

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 2, 2
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        flag = self.semaphore()
        unit = self.register_tensor(dtype=int32, shape=[1], init=1)
        if self.blockIdx.x == 0:
            self.store_global(x, self.ones(), offsets=[0])  # AcquiredByOneThread 1
            self.sync()
            self.atomic.global_add(flag, unit, sem="release")
        else:
            self.atomic.global_add(flag, unit, sem="acquire")
            if self.right:
                self.sync()
            t = self.load_global(x, offsets=[0], shape=[128])  # AcquiredByOneThread 2
            self.store_global(y, t, offsets=[0])


class NarrowView(Adversary):
    """Two views of the same bytes with different element sizes."""

    kind, on_simulator = "two blocks", True

    def __call__(self, x_ptr: void_p, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 2, 1
        wide = self.global_view(x_ptr, dtype=float32, shape=[128])
        narrow = self.global_view(x_ptr, dtype=float16, shape=[256])
        if self.blockIdx.x == 0:
            self.store_global(wide, self.ones(64), offsets=[0])  # NarrowView 1
        else:
            half = self.register_tensor(dtype=float16, shape=[64], init=1.0)
            at = 128 if self.right else 127
            self.store_global(narrow, half, offsets=[at])  # NarrowView 2


class AtomicAndPlain(Adversary):
    """Blocks update an element by atomic instructions, and one of them stores to it."""

    kind, on_simulator, types = "two blocks", True, (np.int32, np.float32)

    def __call__(self, x_ptr: ~int32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 3, 1
        x = self.global_view(x_ptr, dtype=int32, shape=[128])
        unit = self.register_tensor(dtype=int32, shape=[128], init=1)
        if not self.right and self.blockIdx.x == 2:
            self.store_global(x, unit, offsets=[0])  # AtomicAndPlain 2
        else:
            self.atomic.global_add(x, unit)  # AtomicAndPlain 1


class Flag(Adversary):
    """The first block waits for a flag of the second one in a loop of atomic instructions."""

    kind, on_simulator = "two blocks", True

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 2, 2
        x, y = self.vector(x_ptr), self.vector(y_ptr)
        flag = self.semaphore()
        if self.blockIdx.x == 1:
            self.store_global(x, self.ones(), offsets=[0])  # Flag 1
            self.sync()
            with self.single_thread():
                unit = self.register_tensor(dtype=int32, shape=[1], init=1)
                self.atomic.global_add(flag, unit, sem="release" if self.right else "relaxed")
        else:
            with self.single_thread():
                zero = self.register_tensor(dtype=int32, shape=[1], init=0)
                while self.atomic.global_add(flag, zero, sem="acquire").item() == 0:
                    pass
            self.sync()
            t = self.load_global(x, offsets=[0], shape=[128])  # Flag 2
            self.store_global(y, t, offsets=[0])


class FlagNeverSet(Adversary):
    """A loop that waits for a flag that no block sets."""

    kind = "deadlock"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 2, 1
        flag = self.semaphore()
        unit = self.register_tensor(dtype=int32, shape=[1], init=1)
        zero = self.register_tensor(dtype=int32, shape=[1], init=0)
        if self.right and self.blockIdx.x == 1:
            self.atomic.global_add(flag, unit)
        if self.blockIdx.x == 0:
            while self.atomic.global_add(flag, zero).item() == 0:  # FlagNeverSet 1
                pass
