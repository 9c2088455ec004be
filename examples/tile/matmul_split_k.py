# SPDX-License-Identifier: Apache-2.0
"""A split-K matmul: blocks divide K and add their partial sums in turn."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves, show
from xtc import tile
from xtc.tile import float16, float32, int32


class MatmulSplitK(tile.Script):
    """Block z multiplies a part of K, and adds its result to the partial sums of earlier blocks."""

    def __init__(self, block_m=32, block_n=32, block_k=32, parts=4):
        super().__init__()
        self.block_m, self.block_n, self.block_k = block_m, block_n, block_k
        self.parts = parts

    def __call__(
        self,
        m: int32,
        n: int,
        k: int,
        a_ptr: ~float16,
        b_ptr: ~float16,
        c_ptr: ~float32,
    ):
        bm, bn, bk = self.block_m, self.block_n, self.block_k
        rows, columns = self.utils.cdiv(m, bm), self.utils.cdiv(n, bn)
        self.attrs.blocks = [rows, columns, self.parts]
        self.attrs.warps = 4
        row, column, part = bm * self.blockIdx.x, bn * self.blockIdx.y, self.blockIdx.z
        ga = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=float16, shape=[k, n])
        gc = self.global_view(c_ptr, dtype=float32, shape=[m, n])
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        sa = self.shared_tensor(dtype=float16, shape=[bm, bk])
        sb = self.shared_tensor(dtype=float16, shape=[bk, bn])
        each = self.utils.cdiv(self.utils.cdiv(k, bk), self.parts) * bk
        for at in range(part * each, min((part + 1) * each, k), bk):
            self.copy_async(ga, sa, offsets=[row, at])
            self.copy_async(gb, sb, offsets=[at, column])
            self.copy_async_wait_all()
            self.sync()
            self.dot(self.load_shared(sa), self.load_shared(sb), acc, out=acc)
            self.sync()
        turns = self.global_tensor(dtype=int32, shape=[rows, columns], requires_clean=True)
        turn = turns[self.blockIdx.x, self.blockIdx.y].item_ptr()
        self.lock_semaphore(turn, value=part)
        if part > 0:
            acc = acc + self.load_global(gc, offsets=[row, column], shape=[bm, bn])
        self.store_global(gc, acc, offsets=[row, column])
        self.sync()
        self.release_semaphore(turn, value=(part + 1) % self.parts)


def case(m=33, n=40, k=600):
    """A long K, and a result with few tiles."""
    a, b = halves(0, m, k), halves(1, k, n)
    c = np.zeros((m, n), np.float32)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    launch = Launch(MatmulSplitK(), (m, n, k, a, b, c))
    return Case((launch,), c, expected, atol=1e-3, rtol=1e-3)


if __name__ == "__main__":
    show(case())
