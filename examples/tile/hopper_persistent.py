# SPDX-License-Identifier: Apache-2.0
"""Hopper, fifth step: persistent blocks, two warpgroups that multiply, and TMA stores."""

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


class MatmulPersistent(tile.Script):
    """c = a b; warps 0 to 7 multiply while warp 8 copies the next tiles."""

    def __init__(self, block_m=128, block_n=128, block_k=64, blocks=2):
        super().__init__()
        self.block_m, self.block_n, self.block_k = block_m, block_n, block_k
        self.blocks = blocks

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
        tiles_n = self.utils.cdiv(n, bn)
        tiles = self.utils.cdiv(m, bm) * tiles_n
        self.attrs.blocks = self.blocks
        self.attrs.warps = 9
        ga = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=float16, shape=[k, n])
        gc = self.global_view(c_ptr, dtype=float16, shape=[m, n])
        slots = 4
        sa = self.shared_tensor(dtype=float16, shape=[slots, bm, bk])
        sb = self.shared_tensor(dtype=float16, shape=[slots, bk, bn])
        sc = self.shared_tensor(dtype=float16, shape=[bm, bn])
        pipe = Slots(slots, 256)
        with self.thread_group(256, 32):
            for number in range(self.blockIdx.x, tiles, self.blocks):
                row, column = number // tiles_n * bm, number % tiles_n * bn
                for at in range(0, k, bk):
                    self.mbarrier.wait(pipe.empty[pipe.slot], phase=pipe.phase ^ 1)
                    with self.single_thread():
                        full = pipe.full[pipe.slot]
                        a, b = sa[pipe.slot], sb[pipe.slot]
                        self.mbarrier.arrive_and_expect_tx(full, a.nbytes + b.nbytes)
                        self.tma.global_to_shared(src=ga, dst=a, offsets=[row, at], mbarrier=full)
                        self.tma.global_to_shared(
                            src=gb, dst=b, offsets=[at, column], mbarrier=full
                        )
                    pipe.advance()
        with self.thread_group(0, 256):
            for number in range(self.blockIdx.x, tiles, self.blocks):
                row, column = number // tiles_n * bm, number % tiles_n * bn
                acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
                last: int32 = pipe.slot
                for at in range(0, k, bk):
                    self.mbarrier.wait(pipe.full[pipe.slot], phase=pipe.phase)
                    self.wgmma.fence()
                    self.wgmma.mma(sa[pipe.slot], sb[pipe.slot], acc)
                    self.wgmma.commit_group()
                    self.wgmma.wait_group(1)
                    if at > 0:
                        self.mbarrier.arrive(pipe.empty[last])
                    last = pipe.slot
                    pipe.advance()
                self.wgmma.wait_group(0)
                self.mbarrier.arrive(pipe.empty[last])
                self.store(sc, gc, acc, [row, column])
            with self.single_thread():
                self.tma.wait_group(0)

    def store(self, sc, gc, acc, offsets):
        """Start the bulk store of a tile, once the previous one has been read."""
        with self.single_thread():
            self.tma.wait_group(0, read=True)
        self.sync()
        self.store_shared(sc, self.cast(acc, dtype=float16))
        self.fence.proxy_async()
        self.sync()
        with self.single_thread():
            self.tma.shared_to_global(sc, gc, offsets=offsets)
            self.tma.commit_group()


def case(m=200, n=264, k=200):
    """Sizes that tiles do not divide; rows are multiples of 16 bytes, as bulk copies require."""
    a, b = halves(0, m, k), halves(1, k, n)
    c = np.zeros((m, n), np.float16)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    return Case(
        (Launch(MatmulPersistent(), (m, n, k, a, b, c)),), c, expected, atol=4e-3, rtol=4e-3
    )


if __name__ == "__main__":
    show(case())
