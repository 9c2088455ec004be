# SPDX-License-Identifier: Apache-2.0
"""Three warpgroups accumulate in float16; their tiles pass one buffer to the warp that copies."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float16, int32


class HandOver(tile.Script):
    """c = a b'. A warpgroup stores its rows when the bulk store of the one before has read them."""

    def __init__(self, groups=3, block_n=32, block_k=32, slots=2):
        super().__init__()
        self.groups, self.block_n, self.block_k, self.slots = groups, block_n, block_k, slots
        self.copying = 4 * groups

    def __call__(
        self, m: int32, n: int32, k: int32, a_ptr: ~float16, b_ptr: ~float16, c_ptr: ~float16
    ):
        self.assume(n % 8 == 0)
        self.assume(k % 8 == 0)
        rows = 64 * self.groups
        self.attrs.blocks = self.utils.cdiv(m, rows), self.utils.cdiv(n, self.block_n)
        self.attrs.warps = self.copying + 1
        self.row, self.column = self.blockIdx.x * rows, self.blockIdx.y * self.block_n
        self.a = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        self.b = self.global_view(b_ptr, dtype=float16, shape=[n, k])
        self.c = self.global_view(c_ptr, dtype=float16, shape=[m, n])
        self.sa = self.shared_tensor(
            dtype=float16, shape=[self.slots, self.groups, 64, self.block_k]
        )
        self.sb = self.shared_tensor(dtype=float16, shape=[self.slots, self.block_n, self.block_k])
        self.sc = self.shared_tensor(dtype=float16, shape=[64, self.block_n])
        pipe = tile.Pipeline(self.slots, 1, 128 * self.groups)
        ready = self.mbarrier.alloc([128 for _ in range(self.groups)])
        free = self.mbarrier.alloc([1 for _ in range(self.groups)])
        with self.single_warp(self.copying):
            for offset in range(0, k, self.block_k):
                self.fill(pipe, offset)
            for group in self.range(self.groups, unroll="all"):
                self.store(group, ready[group], free[group])
        for group in self.range(self.groups, unroll="all"):
            with self.warp_group(4 * group, 4):
                acc = self.multiplied(pipe, group, self.utils.cdiv(k, self.block_k))
                if group > 0:
                    self.mbarrier.wait(free[group - 1], phase=0)
                self.store_shared(self.sc, acc)
                self.fence.proxy_async()
                self.mbarrier.arrive(ready[group])

    def fill(self, pipe, offset):
        pipe.producer_acquire()
        slot, full = pipe.producer_stage, pipe.producer_release_barrier()
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(full, self.sa[0].nbytes + self.sb[0].nbytes)
            for group in self.range(self.groups, unroll="all"):
                self.tma.global_to_shared(
                    src=self.a,
                    dst=self.sa[slot, group],
                    offsets=[self.row + 64 * group, offset],
                    mbarrier=full,
                )
            self.tma.global_to_shared(
                src=self.b, dst=self.sb[slot], offsets=[self.column, offset], mbarrier=full
            )
        pipe.producer_advance()

    def multiplied(self, pipe, group, count):
        acc = self.register_tensor(dtype=float16, shape=[64, self.block_n], init=0.0)
        for _ in range(count):
            pipe.consumer_acquire()
            b = self.sb[pipe.consumer_stage]
            self.wgmma.fence()
            self.wgmma.mma(self.sa[pipe.consumer_stage, group], b.transpose(), acc)
            self.wgmma.commit_group()
            self.wgmma.wait_group(0)
            self.mbarrier.arrive(pipe.consumer_release_barrier())
            pipe.consumer_advance()
        return acc

    def store(self, group, ready, free):
        self.mbarrier.wait(ready, phase=0)
        with self.single_thread():
            self.tma.shared_to_global(self.sc, self.c, offsets=[self.row + 64 * group, self.column])
            self.tma.commit_group()
            self.tma.wait_group(0, read=True)
            self.mbarrier.arrive(free)


def case(m=200, n=40, k=136):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((m, k), (n, k)))
    c = np.zeros((m, n), np.float16)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    return Case((Launch(HandOver(), (m, n, k, a, b, c)),), c, expected)
