# SPDX-License-Identifier: Apache-2.0
"""Hopper, third step: copies run ahead, and one multiplication stays in flight."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves, show
from xtc import tile
from xtc.tile import float16, float32, int32, uint32


class MatmulStages(tile.Script):
    """c = a b^T; slot s of shared memory holds tiles s, s + 3, ..."""

    def __init__(self, block_m=64, block_n=64, block_k=64):
        super().__init__()
        self.block_m, self.block_n, self.block_k = block_m, block_n, block_k

    def __call__(
        self,
        m: int32,
        n: int,
        k: int,
        a_ptr: ~float16,
        b_ptr: ~float16,
        c_ptr: ~float16,
    ):
        bm, bn, bk = self.block_m, self.block_n, self.block_k
        self.attrs.blocks = [self.utils.cdiv(m, bm), self.utils.cdiv(n, bn)]
        self.attrs.warps = 4
        row, column = bm * self.blockIdx.x, bn * self.blockIdx.y
        ga = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=float16, shape=[n, k])
        gc = self.global_view(c_ptr, dtype=float16, shape=[m, n])
        slots = 3
        sa = self.shared_tensor(dtype=float16, shape=[slots, bm, bk])
        sb = self.shared_tensor(dtype=float16, shape=[slots, bn, bk])
        full = self.mbarrier.alloc([1 for _ in range(slots)])
        slot: int32 = 0
        phase: uint32 = 0
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        for ahead in self.range(slots - 1, unroll="all"):
            self.fill(ga, gb, sa, sb, full, ahead, [row, column, ahead * bk])
        for number in range(self.utils.cdiv(k, bk)):
            self.mbarrier.wait(full[slot], phase=phase)
            self.wgmma.fence()
            self.wgmma.mma(sa[slot], sb[slot].transpose(), acc)
            self.wgmma.commit_group()
            self.wgmma.wait_group(1)
            ahead = number + slots - 1
            if ahead < self.utils.cdiv(k, bk):
                self.fill(ga, gb, sa, sb, full, ahead % slots, [row, column, ahead * bk])
            slot = (slot + 1) % slots
            phase = phase ^ (slot == 0)
        self.wgmma.wait_group(0)
        self.store_global(gc, self.cast(acc, dtype=float16), offsets=[row, column])

    def fill(self, ga, gb, sa, sb, full, slot, at):
        """Copy the tiles of a and b at offset `at` to a slot."""
        row, column, k = at
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(full[slot], sa[slot].nbytes + sb[slot].nbytes)
            self.tma.global_to_shared(src=ga, dst=sa[slot], offsets=[row, k], mbarrier=full[slot])
            self.tma.global_to_shared(
                src=gb, dst=sb[slot], offsets=[column, k], mbarrier=full[slot]
            )


def case(m=65, n=72, k=296):
    """Sizes that tiles do not divide; rows are multiples of 16 bytes, as bulk copies require."""
    a, b = halves(0, m, k), halves(1, n, k)
    c = np.zeros((m, n), np.float16)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    return Case((Launch(MatmulStages(), (m, n, k, a, b, c)),), c, expected, atol=4e-3, rtol=4e-3)


if __name__ == "__main__":
    show(case())
