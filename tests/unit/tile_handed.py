# SPDX-License-Identifier: Apache-2.0
"""Tile kernels in which few threads wait, release or copy for others."""

from __future__ import annotations

from xtc import tile
from xtc.tile import RegisterTensor, SharedTensor, float16, int32

GROUPS, ROWS, COLUMNS, DEPTH = 3, 64, 32, 64


class Handed(tile.Script):
    """c = a b^T: each warpgroup multiplies 64 rows and stores them to the same shared tensor; one
    warp waits for them, fences their stores for bulk copies, and copies."""

    def __call__(self, k: int32, a_ptr: ~float16, b_ptr: ~float16, c_ptr: ~float16):
        self.attrs.blocks = 1
        self.attrs.warps = 4 * GROUPS + 1
        ga = self.global_view(a_ptr, dtype=float16, shape=[GROUPS * ROWS, k])
        gb = self.global_view(b_ptr, dtype=float16, shape=[COLUMNS, k])
        gc = self.global_view(c_ptr, dtype=float16, shape=[GROUPS * ROWS, COLUMNS])
        self.assume(k % 8 == 0)
        sa = self.shared_tensor(dtype=float16, shape=[GROUPS, ROWS, DEPTH])
        sb = self.shared_tensor(dtype=float16, shape=[COLUMNS, DEPTH])
        sc = self.shared_tensor(dtype=float16, shape=[ROWS, COLUMNS])
        full, empty = self.mbarrier.alloc([1, GROUPS]).tolist()
        written = self.mbarrier.alloc([128] * GROUPS)
        stored = self.mbarrier.alloc([1] * GROUPS)
        with self.thread_group(128 * GROUPS, 32):
            phase: int32 = 1
            for at in self.range(0, k, DEPTH):
                self.mbarrier.wait(empty, phase=phase)
                phase ^= 1
                with self.single_thread():
                    self.mbarrier.arrive_and_expect_tx(full, sa.nbytes + sb.nbytes)
                for number in self.range(GROUPS, unroll="all"):
                    self.tma.global_to_shared(
                        src=ga, dst=sa[number], offsets=[number * ROWS, at], mbarrier=full
                    )
                self.tma.global_to_shared(src=gb, dst=sb, offsets=[0, at], mbarrier=full)
            for number in self.range(GROUPS, unroll="all"):
                self.mbarrier.wait(written[number], phase=0)
                self.fence.proxy_async()  # shown
                self.tma.shared_to_global(sc, gc, offsets=[number * ROWS, 0])
                self.tma.commit_group()
                self.tma.wait_group(n=0)
                with self.single_thread():
                    self.mbarrier.arrive(stored[number])
        for number in self.range(GROUPS, unroll="all"):
            with self.thread_group(128 * number, 128):
                self.multiplied(k, sa, sb, sc, full, empty, written, stored, number)

    def multiplied(
        self,
        k: int32,
        sa: SharedTensor,
        sb: SharedTensor,
        sc: SharedTensor,
        full: RegisterTensor,
        empty: RegisterTensor,
        written: RegisterTensor,
        stored: RegisterTensor,
        number: int,
    ):
        """The code of a warpgroup."""
        acc = self.register_tensor(dtype=float16, shape=[ROWS, COLUMNS], init=0.0)
        phase: int32 = 0
        for _ in self.range(0, k, DEPTH):
            self.mbarrier.wait(full, phase=phase)
            phase ^= 1
            self.wgmma.fence()
            self.wgmma.mma(sa[number], sb.transpose(), acc)
            self.wgmma.commit_group()
            self.wgmma.wait_group(0)  # multiplied
            with self.single_thread():
                self.mbarrier.arrive(empty)
        if number > 0:
            self.mbarrier.wait(stored[number - 1], phase=0)  # stored
        self.store_shared(sc, acc)
        self.mbarrier.arrive(written[number])


class OneWaits(tile.Script):
    """y = 2 x: one thread copies, and waits for its copy at the only barrier of a list."""

    def __call__(self, m: int32, x_ptr: ~float16, y_ptr: ~float16):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        x = self.global_view(x_ptr, dtype=float16, shape=[m, 64])
        y = self.global_view(y_ptr, dtype=float16, shape=[m, 64])
        s = self.shared_tensor(dtype=float16, shape=[16, 64])
        barrier = self.mbarrier.alloc(counts=[1])
        phase: int32 = 0
        for row in range(0, m, 16):
            with self.single_thread():
                self.mbarrier.arrive_and_expect_tx(barrier, s.nbytes)
                self.tma.global_to_shared(src=x, dst=s, offsets=[row, 0], mbarrier=barrier)
                self.mbarrier.wait(barrier, phase=phase)
            self.sync()
            loaded = self.load_shared(s)
            self.sync()
            phase ^= 1
            self.store_global(y, loaded + loaded, offsets=[row, 0])
