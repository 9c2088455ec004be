# SPDX-License-Identifier: Apache-2.0
"""Hopper: a warp copies, two warpgroups multiply separate tiles by turns, and store in bulk."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves
from xtc import tile
from xtc.tile import float16, float32, int32

ARCH = "sm_90a"


class PingPong(tile.Script):
    """The warpgroups take turns with the tensor cores at two mbarriers."""

    def __init__(self, bm=64, bn=64, bk=64, slots=3):
        super().__init__()
        self.bm, self.bn, self.bk, self.slots = bm, bn, bk, slots

    def __call__(self, m: int32, n: int, k: int, a_ptr: ~float16, b_ptr: ~float16, c_ptr: ~float16):
        bm, bn, bk, slots = self.bm, self.bn, self.bk, self.slots
        self.attrs.blocks = self.utils.cdiv(self.utils.cdiv(m, bm), 2)
        self.attrs.warps = 9
        self.ga = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        self.gb = self.global_view(b_ptr, dtype=float16, shape=[n, k])
        self.gc = self.global_view(c_ptr, dtype=float16, shape=[m, n])
        self.sa = self.shared_tensor(dtype=float16, shape=[slots, bm, bk])
        self.sb = self.shared_tensor(dtype=float16, shape=[slots, bn, bk])
        self.sc = self.shared_tensor(dtype=float16, shape=[2, bm, bn])
        pipe = tile.Pipeline(slots, producer_arrive_count=1, consumer_arrive_count=128)
        turns = self.mbarrier.alloc(128)
        with self.thread_group(256, 32):
            for half in self.range(2, unroll="all"):
                for column in range(0, n, bn):
                    for at in range(0, k, bk):
                        pipe.producer_acquire()
                        self.fill(pipe, (2 * self.blockIdx.x + half) * bm, column, at)
                        pipe.producer_advance()
        for half in self.range(2, unroll="all"):
            with self.thread_group(128 * half, 128):
                self.multiply(pipe, turns, half, n, k)

    def fill(self, pipe, row, column, at):
        full = pipe.producer_release_barrier()
        a, b = self.sa[pipe.producer_stage], self.sb[pipe.producer_stage]
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(full, a.nbytes + b.nbytes)
            self.tma.global_to_shared(src=self.ga, dst=a, offsets=[row, at], mbarrier=full)
            self.tma.global_to_shared(src=self.gb, dst=b, offsets=[column, at], mbarrier=full)

    def multiply(self, pipe, turns, half, n, k):
        """The second half starts when the first has consumed all of its slots."""
        if half == 1:
            self.mbarrier.wait(turns, phase=0)
            for _ in range(self.utils.cdiv(n, self.bn) * self.utils.cdiv(k, self.bk)):
                pipe.consumer_advance()
        for column in range(0, n, self.bn):
            acc = self.register_tensor(dtype=float32, shape=[self.bm, self.bn], init=0.0)
            for _ in range(0, k, self.bk):
                pipe.consumer_acquire()
                a, b = self.sa[pipe.consumer_stage], self.sb[pipe.consumer_stage]
                self.wgmma.fence()
                self.wgmma.mma(a, b.transpose(), acc)
                self.wgmma.commit_group()
                self.wgmma.wait_group(0)
                self.mbarrier.arrive(pipe.consumer_release_barrier())
                pipe.consumer_advance()
            self.store(half, column, acc)
        if half == 0:
            self.mbarrier.arrive(turns)
        with self.single_thread():
            self.tma.wait_group(0)

    def store(self, half, column, acc):
        with self.single_thread():
            self.tma.wait_group(0, read=True)
        self.sync()
        self.store_shared(self.sc[half], self.cast(acc, float16))
        self.fence.proxy_async()
        self.sync()
        with self.single_thread():
            row = (2 * self.blockIdx.x + half) * self.bm
            self.tma.shared_to_global(self.sc[half], self.gc, offsets=[row, column])
            self.tma.commit_group()


def case(m=200, n=136, k=136):
    a, b = halves(0, m, k), halves(1, n, k)
    c = np.zeros((m, n), np.float16)
    launch = Launch(PingPong(), (m, n, k, a, b, c))
    return Case((launch,), c, a.astype(float) @ b.astype(float).T, atol=4e-3, rtol=4e-3)
