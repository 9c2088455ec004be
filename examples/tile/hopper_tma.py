# SPDX-License-Identifier: Apache-2.0
"""Hopper, first step: one thread issues bulk copies of tiles, and all wait on an mbarrier."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves, show
from xtc import tile
from xtc.tile import float16, float32, int32, uint32


class MatmulTma(tile.Script):
    """c = a b^T; one tile of a and of b at a time."""

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
        sa = self.shared_tensor(dtype=float16, shape=[bm, bk])
        sb = self.shared_tensor(dtype=float16, shape=[bn, bk])
        full = self.mbarrier.alloc(1)
        phase: uint32 = 0
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        for at in range(0, k, bk):
            with self.single_thread():
                self.mbarrier.arrive_and_expect_tx(full, sa.nbytes + sb.nbytes)
                self.tma.global_to_shared(src=ga, dst=sa, offsets=[row, at], mbarrier=full)
                self.tma.global_to_shared(src=gb, dst=sb, offsets=[column, at], mbarrier=full)
            self.mbarrier.wait(full, phase=phase)
            phase ^= 1
            self.dot(self.load_shared(sa), self.load_shared(sb.transpose()), acc, out=acc)
            self.sync()
        self.store_global(gc, self.cast(acc, dtype=float16), offsets=[row, column])


def case(m=65, n=72, k=88):
    """Sizes that tiles do not divide; rows are multiples of 16 bytes, as bulk copies require."""
    a, b = halves(0, m, k), halves(1, n, k)
    c = np.zeros((m, n), np.float16)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    return Case((Launch(MatmulTma(), (m, n, k, a, b, c)),), c, expected, atol=4e-3, rtol=4e-3)


if __name__ == "__main__":
    show(case())
