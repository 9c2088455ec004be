# SPDX-License-Identifier: Apache-2.0
"""Hopper, fourth step: a warp copies, a warpgroup multiplies, and mbarriers synchronize them."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves, show
from xtc import tile
from xtc.tile import float16, float32, int32, uint32


class Slots(tile.Class):
    """Slots of shared memory, filled by one thread group and drained by another."""

    def __init__(self, slots, readers):
        self.slots = slots
        self.full = self.mbarrier.alloc([1 for _ in range(slots)])
        self.empty = self.mbarrier.alloc([readers for _ in range(slots)])
        self.slot: int32 = 0
        self.phase: uint32 = 0

    def advance(self):
        self.slot = (self.slot + 1) % self.slots
        self.phase = self.phase ^ (self.slot == 0)


class MatmulSpecialized(tile.Script):
    """c = a b^T; warps 0 to 3 multiply, warp 4 copies."""

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
        self.attrs.warps = 5
        row, column = bm * self.blockIdx.x, bn * self.blockIdx.y
        ga = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=float16, shape=[n, k])
        gc = self.global_view(c_ptr, dtype=float16, shape=[m, n])
        slots = 3
        sa = self.shared_tensor(dtype=float16, shape=[slots, bm, bk])
        sb = self.shared_tensor(dtype=float16, shape=[slots, bn, bk])
        pipe = Slots(slots, 128)
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        with self.thread_group(128, 32):
            for at in range(0, k, bk):
                self.mbarrier.wait(pipe.empty[pipe.slot], phase=pipe.phase ^ 1)
                with self.single_thread():
                    full = pipe.full[pipe.slot]
                    a, b = sa[pipe.slot], sb[pipe.slot]
                    self.mbarrier.arrive_and_expect_tx(full, a.nbytes + b.nbytes)
                    self.tma.global_to_shared(src=ga, dst=a, offsets=[row, at], mbarrier=full)
                    self.tma.global_to_shared(src=gb, dst=b, offsets=[column, at], mbarrier=full)
                pipe.advance()
        with self.thread_group(0, 128):
            for _ in range(0, k, bk):
                self.mbarrier.wait(pipe.full[pipe.slot], phase=pipe.phase)
                self.wgmma.fence()
                self.wgmma.mma(sa[pipe.slot], sb[pipe.slot].transpose(), acc)
                self.wgmma.commit_group()
                self.wgmma.wait_group(0)
                self.mbarrier.arrive(pipe.empty[pipe.slot])
                pipe.advance()
            self.store_global(gc, self.cast(acc, dtype=float16), offsets=[row, column])


def case(m=65, n=72, k=296):
    """Sizes that tiles do not divide; rows are multiples of 16 bytes, as bulk copies require."""
    a, b = halves(0, m, k), halves(1, n, k)
    c = np.zeros((m, n), np.float16)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    return Case(
        (Launch(MatmulSpecialized(), (m, n, k, a, b, c)),), c, expected, atol=4e-3, rtol=4e-3
    )


if __name__ == "__main__":
    show(case())
