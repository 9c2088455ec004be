# SPDX-License-Identifier: Apache-2.0
"""A matmul whose K is shared by blocks; a second kernel adds their sums up."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves, show
from xtc import tile
from xtc.tile import float16, float32, int32


class PartialSums(tile.Script):
    """Block z multiplies a part of K, and writes its sums to a workspace."""

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
        sums_ptr: ~float32,
    ):
        bm, bn, bk = self.block_m, self.block_n, self.block_k
        self.attrs.blocks = [self.utils.cdiv(m, bm), self.utils.cdiv(n, bn), self.parts]
        self.attrs.warps = 4
        row, column, part = bm * self.blockIdx.x, bn * self.blockIdx.y, self.blockIdx.z
        ga = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=float16, shape=[k, n])
        sums = self.global_view(sums_ptr, dtype=float32, shape=[self.parts, m, n])
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
        self.store_global(sums, acc, offsets=[part, row, column], dims=[1, 2])


class AddParts(tile.Script):
    """Adds up, in order, what the blocks of a place have."""

    def __call__(self, count: int32, parts: int, sums_ptr: ~float32, c_ptr: ~float16):
        self.attrs.blocks = self.utils.cdiv(count, 512)
        self.attrs.warps = 4
        at = 512 * self.blockIdx.x
        sums = self.global_view(sums_ptr, dtype=float32, shape=[parts, count])
        c = self.global_view(c_ptr, dtype=float16, shape=[count])
        total = self.register_tensor(dtype=float32, shape=[512], init=0.0)
        for part in range(parts):
            total += self.load_global(sums, offsets=[part, at], shape=[512], dims=[1])
        self.store_global(c, self.cast(total, dtype=float16), offsets=[at])


def case(m=33, n=40, k=600):
    """A long K, and a result of few tiles."""
    a, b = halves(0, m, k), halves(1, k, n)
    sums, c = np.zeros((4, m, n), np.float32), np.zeros((m, n), np.float16)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    launches = (
        Launch(PartialSums(), (m, n, k, a, b, sums)),
        Launch(AddParts(), (m * n, 4, sums, c)),
    )
    return Case(launches, c, expected, atol=1e-2, rtol=4e-3)


if __name__ == "__main__":
    show(case())
