# SPDX-License-Identifier: Apache-2.0
"""Bulk copies, wgmma and clusters that race."""

from __future__ import annotations

import numpy as np

from tests.unit.tile_adversaries.base import Adversary
from xtc.tile import float16, float32


class StoreThenRefill(Adversary):
    """Shared memory that a bulk store reads is refilled."""

    kind = "refilled while read"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        y = self.global_view(y_ptr, dtype=float32, shape=[4, 32])
        s = self.shared_tensor(dtype=float32, shape=[4, 32])
        t = self.register_tensor(dtype=float32, shape=[4, 32], init=1.0)
        self.store_shared(s, t)
        self.fence.proxy_async()
        self.sync()
        self.tma.shared_to_global(s, y, offsets=[0, 0])  # StoreThenRefill 1
        self.tma.commit_group()
        if self.right:
            self.tma.wait_group(0, read=True)
        self.sync()
        self.store_shared(s, t + 1)  # StoreThenRefill 2
        self.tma.wait_group(0)


class ReadIsNotWritten(Adversary):
    """A bulk store has read shared memory, but not written yet."""

    kind = "read before wait"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x = self.global_view(x_ptr, dtype=float32, shape=[4, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[4, 32])
        s = self.shared_tensor(dtype=float32, shape=[4, 32])
        self.store_shared(s, self.register_tensor(dtype=float32, shape=[4, 32], init=1.0))
        self.fence.proxy_async()
        self.sync()
        self.tma.shared_to_global(s, y, offsets=[0, 0])  # ReadIsNotWritten 1
        self.tma.commit_group()
        self.tma.wait_group(0, read=not self.right)
        self.sync()
        t = self.load_global(y, offsets=[0, 0], shape=[4, 32])  # ReadIsNotWritten 2
        self.store_global(x, t, offsets=[0, 0])


class OnePathUnfenced(Adversary):
    """Two groups store, and one of them does not fence."""

    kind = "missing proxy fence"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        y = self.global_view(y_ptr, dtype=float32, shape=[4, 32])
        s = self.shared_tensor(dtype=float32, shape=[2, 2, 32])
        for half in self.range(2, unroll="all"):
            with self.warp_group(2 * half, 2):
                t = self.register_tensor(dtype=float32, shape=[2, 32], init=1.0)
                self.store_shared(s[half], t)  # OnePathUnfenced 1
                if self.right or half == 0:
                    self.fence.proxy_async()
        self.sync()
        for half in range(2):
            self.tma.shared_to_global(s[half], y, offsets=[2 * half, 0])  # OnePathUnfenced 2
        self.tma.commit_group()
        self.tma.wait_group(0)


class FenceElsewhere(Adversary):
    """Threads that do not start the copy fence after the barrier."""

    kind = "missing proxy fence"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        y = self.global_view(y_ptr, dtype=float32, shape=[4, 32])
        s = self.shared_tensor(dtype=float32, shape=[4, 32])
        t = self.register_tensor(dtype=float32, shape=[4, 32], init=1.0)
        self.store_shared(s, t)  # FenceElsewhere 1
        self.sync()
        with self.warp_group(0, 2):
            self.fence.proxy_async()
        if self.right:
            self.sync()
        with self.warp_group(2, 2):
            self.tma.shared_to_global(s, y, offsets=[0, 0])  # FenceElsewhere 2
            self.tma.commit_group()
            self.tma.wait_group(0)


class GlobalProxy(Adversary):
    """A bulk copy reads global memory that threads have stored to."""

    kind = "missing proxy fence"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x = self.global_view(x_ptr, dtype=float32, shape=[4, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[4, 32])
        s = self.shared_tensor(dtype=float32, shape=[4, 32])
        barrier = self.mbarrier.alloc(1)
        t = self.register_tensor(dtype=float32, shape=[4, 32], init=1.0)
        self.store_global(x, t, offsets=[0, 0])  # GlobalProxy 1
        self.fence.proxy_async(space="global" if self.right else "shared")
        self.sync()
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(barrier, s.nbytes)
            self.tma.global_to_shared(  # GlobalProxy 2
                src=x, dst=s, offsets=[0, 0], mbarrier=barrier
            )
        self.mbarrier.wait(barrier, phase=0)
        self.store_global(y, self.load_shared(s), offsets=[0, 0])


class StoredBefore(Adversary):
    """Threads clear global memory, and a bulk store writes it."""

    kind = "missing proxy fence"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x = self.global_view(x_ptr, dtype=float32, shape=[4, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[4, 32])
        s = self.shared_tensor(dtype=float32, shape=[4, 32])
        zero = self.register_tensor(dtype=float32, shape=[4, 32], init=0.0)
        self.store_global(y, zero, offsets=[0, 0])  # StoredBefore 1
        self.store_shared(s, self.load_global(x, offsets=[0, 0], shape=[4, 32]))
        self.fence.proxy_async()
        if self.right:
            self.fence.proxy_async(space="global")
        self.sync()
        with self.single_thread():
            self.tma.shared_to_global(s, y, offsets=[0, 0])  # StoredBefore 2
            self.tma.commit_group()
            self.tma.wait_group(0)


class OperandOverwritten(Adversary):
    """Two multiplications are in flight; the operand of the newer one is overwritten."""

    kind, types, sizes = "refilled while read", (np.float16, np.float32), (4096, 4096)

    def __call__(self, x_ptr: ~float16, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        y = self.global_view(y_ptr, dtype=float32, shape=[64, 64])
        s = self.shared_tensor(dtype=float16, shape=[2, 64, 64])
        t = self.register_tensor(dtype=float16, shape=[64, 64], init=1.0)
        self.store_shared(s[0], t)
        self.store_shared(s[1], t)
        self.fence.proxy_async()
        self.sync()
        acc = self.register_tensor(dtype=float32, shape=[64, 64], init=0.0)
        self.wgmma.fence()
        self.wgmma.mma(s[0], s[0], acc)
        self.wgmma.commit_group()
        self.wgmma.mma(s[1], s[1], acc)  # OperandOverwritten 1
        self.wgmma.commit_group()
        self.wgmma.wait_group(1)
        self.sync()
        self.store_shared(s[0 if self.right else 1], t)  # OperandOverwritten 2
        self.wgmma.wait_group(0)
        self.store_global(y, acc, offsets=[0, 0])


class OneWarpgroupRead(Adversary):
    """Two warpgroups multiply one operand; it is refilled when one of them is done."""

    kind, types, sizes = "missing sync", (np.float16, np.float32), (8192, 8192)

    def __call__(self, x_ptr: ~float16, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 9
        x = self.global_view(x_ptr, dtype=float16, shape=[128, 64])
        y = self.global_view(y_ptr, dtype=float32, shape=[128, 64])
        s = self.shared_tensor(dtype=float16, shape=[64, 64])
        full = self.mbarrier.alloc(1)
        empty = self.mbarrier.alloc(256 if self.right else 128)
        with self.single_warp(8):
            for i in range(2):
                self.mbarrier.wait(empty, phase=(i + 1) % 2)
                with self.single_thread():
                    self.mbarrier.arrive_and_expect_tx(full, s.nbytes)
                    at = 64 * i
                    self.tma.global_to_shared(  # OneWarpgroupRead 2
                        src=x, dst=s, offsets=[at, 0], mbarrier=full
                    )
        for number in self.range(2, unroll="all"):
            with self.warp_group(4 * number, 4):
                acc = self.register_tensor(dtype=float32, shape=[64, 64], init=0.0)
                for i in range(2):
                    self.mbarrier.wait(full, phase=i)
                    self.wgmma.fence()
                    self.wgmma.mma(s, s, acc)  # OneWarpgroupRead 1
                    self.wgmma.commit_group()
                    if not self.right and number == 0:
                        self.mbarrier.arrive(empty)
                    self.wgmma.wait_group(0)
                    if self.right:
                        self.mbarrier.arrive(empty)
                self.store_global(y, acc, offsets=[64 * number, 0])


class SourceOverwritten(Adversary):
    """Global memory that a bulk copy in flight reads is written."""

    kind = "read before wait"

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x = self.global_view(x_ptr, dtype=float32, shape=[4, 32])
        s = self.shared_tensor(dtype=float32, shape=[4, 32])
        barrier = self.mbarrier.alloc(1)
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(barrier, s.nbytes)
            self.tma.global_to_shared(  # SourceOverwritten 1
                src=x, dst=s, offsets=[0, 0], mbarrier=barrier
            )
        if self.right:
            self.mbarrier.wait(barrier, phase=0)
        self.sync()
        t = self.register_tensor(dtype=float32, shape=[4, 32], init=1.0)
        self.store_global(x, t, offsets=[0, 0])  # SourceOverwritten 2
        self.mbarrier.wait(barrier, phase=0)


class EarlyEnd(Adversary):
    """One block of a cluster ends while the other one waits for it."""

    kind, on_simulator = "deadlock", True

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = self.attrs.cluster_blocks = 2
        self.attrs.warps = 1
        self.cluster.sync()
        if not self.right and self.cluster.blockRank == 1:
            return
        self.cluster.sync()  # EarlyEnd 1


class MulticastElsewhere(Adversary):
    """A multicast to some blocks of a cluster is read in another one."""

    kind, sizes = "undefined", (128, 512)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = self.attrs.cluster_blocks = 4
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[4, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[16, 32])
        s = self.shared_tensor(dtype=float32, shape=[4, 32])
        barrier = self.mbarrier.alloc(1)
        mask = 15 if self.right else 7
        rank = self.cluster.blockRank
        self.cluster.sync()
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(
                barrier, s.nbytes if self.right else (rank < 3) * 512
            )
            if rank == 0:
                self.tma.global_to_shared(
                    src=x, dst=s, offsets=[0, 0], mbarrier=barrier, multicast_mask=mask
                )
        self.mbarrier.wait(barrier, phase=0)
        self.store_global(y, self.load_shared(s), offsets=[4 * rank, 0])  # MulticastElsewhere 2
        self.cluster.sync()


class ReadForAnotherBlock(Adversary):
    """A block fills the memory of all without knowing that the other one has read it."""

    kind, sizes = "missing sync", (256, 512)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = self.attrs.cluster_blocks = 2
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[8, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[16, 32])
        s = self.shared_tensor(dtype=float32, shape=[4, 32])
        full = self.mbarrier.alloc(1)
        rank = self.cluster.blockRank
        self.cluster.sync()
        for i in range(2):
            with self.single_thread():
                self.mbarrier.arrive_and_expect_tx(full, s.nbytes)
            if self.right:
                self.cluster.sync()
            if rank == 0:
                self.tma.global_to_shared(  # ReadForAnotherBlock 2
                    src=x, dst=s, offsets=[4 * i, 0], mbarrier=full, multicast_mask=3
                )
            self.mbarrier.wait(full, phase=i)
            t = self.load_shared(s)  # ReadForAnotherBlock 1
            self.store_global(y, t, offsets=[8 * i + 4 * rank, 0])
            self.sync()
        self.cluster.sync()
