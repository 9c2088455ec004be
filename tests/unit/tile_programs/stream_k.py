# SPDX-License-Identifier: Apache-2.0
"""Stream-K: blocks multiply equally many K tiles; partial results are added in order."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves
from xtc import tile
from xtc.tile import float16, float32, int32


class StreamK(tile.Script):
    def __init__(self, blocks=5, bm=32, bn=32, bk=16, warps=2):
        super().__init__()
        self.blocks, self.bm, self.bn, self.bk, self.warps = blocks, bm, bn, bk, warps

    def __call__(
        self, m: int32, n: int32, k: int32, a_ptr: ~float16, b_ptr: ~float16, c_ptr: ~float32
    ):
        bm, bn, bk = self.bm, self.bn, self.bk
        self.attrs.blocks = self.blocks
        self.attrs.warps = self.warps
        ga = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=float16, shape=[k, n])
        gc = self.global_view(c_ptr, dtype=float32, shape=[m, n])
        columns = self.utils.cdiv(n, bn)
        per_tile = self.utils.cdiv(k, bk)
        total = self.utils.cdiv(m, bm) * columns * per_tile
        each = self.utils.cdiv(total, self.blocks)
        done = self.global_tensor(
            dtype=int32, shape=[self.utils.cdiv(m, bm) * columns], requires_clean=True
        )
        sa = self.shared_tensor(dtype=float16, shape=[bm, bk])
        sb = self.shared_tensor(dtype=float16, shape=[bk, bn])
        at: int32 = self.blockIdx.x * each
        end: int32 = min(at + each, total)
        while at < end:
            number, first = self.fast_divmod(at, per_tile)
            last = min(per_tile, first + end - at)
            row, column = number // columns * bm, number % columns * bn
            acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
            for step in self.range(first, last):
                self.copy_async(ga, sa, offsets=[row, step * bk])
                self.copy_async(gb, sb, offsets=[step * bk, column])
                self.copy_async_wait_all()
                self.sync()
                self.dot(self.load_shared(sa), self.load_shared(sb), acc, out=acc)
                self.sync()
            self.lock_semaphore(~done[number], first)
            if first > 0:
                acc += self.load_global(gc, offsets=[row, column], shape=[bm, bn])
            self.store_global(gc, acc, offsets=[row, column])
            self.sync()
            self.release_semaphore(~done[number], last % per_tile)
            at += last - first


def case(m=70, n=56, k=88):
    a, b, c = halves(0, m, k), halves(1, k, n), np.zeros((m, n), np.float32)
    launch = Launch(StreamK(), (m, n, k, a, b, c))
    return Case((launch,), c, a.astype(np.float64) @ b.astype(np.float64), atol=1e-3, rtol=1e-3)
