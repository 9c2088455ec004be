# SPDX-License-Identifier: Apache-2.0
"""A matmul of clusters: both blocks load a half of the tile of b that they share for each other."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float16, float32, int32, uint32


class Multicast(tile.Script):
    """c = a b'. A slot is empty when the warpgroups of both blocks have arrived."""

    def __init__(self, block_m=64, block_n=32, block_k=32, slots=2):
        super().__init__()
        self.block_m, self.block_n, self.block_k, self.slots = block_m, block_n, block_k, slots

    def __call__(
        self, m: int32, n: int32, k: int32, a_ptr: ~float16, b_ptr: ~float16, c_ptr: ~float32
    ):
        self.assume(k % 8 == 0)
        bm, bn, bk, slots = self.block_m, self.block_n, self.block_k, self.slots
        self.attrs.blocks = self.utils.cdiv(m, 2 * bm) * 2, self.utils.cdiv(n, bn)
        self.attrs.cluster_blocks = 2
        self.attrs.warps = 5
        a = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        b = self.global_view(b_ptr, dtype=float16, shape=[n, k])
        c = self.global_view(c_ptr, dtype=float32, shape=[m, n])
        sa = self.shared_tensor(dtype=float16, shape=[slots, bm, bk])
        halves = self.shared_tensor(dtype=float16, shape=[slots, 2, bn // 2, bk])
        sb = self.reshape_shared(halves, [slots, bn, bk])
        full = self.mbarrier.alloc([1] * slots)
        empty = self.mbarrier.alloc([2] * slots)
        self.cluster.sync()
        row, column = self.blockIdx.x * bm, self.blockIdx.y * bn
        count = self.utils.cdiv(k, bk)
        with self.single_warp(4):
            self.load(a, b, sa, halves, full, empty, row, column, count)
        with self.warp_group(0, 4):
            acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
            for number in range(count):
                slot, phase = self.at(number)
                self.mbarrier.wait(full[slot], phase=phase)
                self.wgmma.fence()
                self.wgmma.mma(sa[slot], sb[slot].transpose(), acc)
                self.wgmma.commit_group()
                self.wgmma.wait_group(0)
                with self.single_thread():
                    for rank in self.range(2, unroll="all"):
                        self.mbarrier.arrive(self.cluster.map_shared_addr(empty[slot], rank))
            self.store_global(c, acc, offsets=[row, column])
        self.cluster.sync()

    def load(self, a, b, sa, halves, full, empty, row, column, count):
        rank, half = self.cluster.blockRank, self.block_n // 2
        nbytes = sa[0].nbytes + halves[0].nbytes
        with self.single_thread():
            for number in range(count):
                slot, phase = self.at(number)
                offset = number * self.block_k
                self.mbarrier.wait(empty[slot], phase=phase ^ 1)
                self.mbarrier.arrive_and_expect_tx(full[slot], nbytes)
                self.tma.global_to_shared(
                    src=a, dst=sa[slot], offsets=[row, offset], mbarrier=full[slot]
                )
                self.tma.global_to_shared(
                    src=b,
                    dst=halves[slot, rank],
                    offsets=[column + rank * half, offset],
                    mbarrier=full[slot],
                    multicast_mask=3,
                )

    def at(self, number):
        """The slot of an iteration, and the parity of its phase."""
        turn, slot = self.fast_divmod(number, self.slots)
        return slot, self.cast(turn & 1, uint32)


def case(m=150, n=40, k=136):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (n, k)))
    c = np.zeros((m, n), np.float32)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    return Case((Launch(Multicast(), (m, n, k, a, b, c)),), c, expected)
