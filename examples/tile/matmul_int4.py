# SPDX-License-Identifier: Apache-2.0
"""4-bit weights, two per byte, times float16."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves, show
from xtc import tile
from xtc.tile import float16, float32, int32, uint8


class MatmulInt4(tile.Script):
    """Weights are unpacked in registers; the sums are scaled by a factor per column."""

    def __init__(self, block_m=16, block_n=32, block_k=32):
        super().__init__()
        self.block_m, self.block_n, self.block_k = block_m, block_n, block_k

    def unpacked(self, packed):
        """Integers from -8 to 7; the even column is in the low bits."""
        both = self.cast(self.repeat_interleave(packed, [1, 2]), dtype=int32)
        half = self.register_tensor(dtype=int32, shape=both.shape, init=lambda i, j: j % 2)
        return self.cast(((both >> (half * 4)) & 15) - 8, dtype=float16)

    def __call__(
        self,
        m: int32,
        n: int,
        k: int,
        a_ptr: ~float16,
        b_ptr: ~uint8,
        scale_ptr: ~float32,
        c_ptr: ~float32,
    ):
        bm, bn, bk = self.block_m, self.block_n, self.block_k
        self.attrs.blocks = [self.utils.cdiv(m, bm), self.utils.cdiv(n, bn)]
        self.attrs.warps = 2
        row, column = bm * self.blockIdx.x, bn * self.blockIdx.y
        ga = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=uint8, shape=[k, n // 2])
        gs = self.global_view(scale_ptr, dtype=float32, shape=[n])
        gc = self.global_view(c_ptr, dtype=float32, shape=[m, n])
        sa = self.shared_tensor(dtype=float16, shape=[bm, bk])
        sb = self.shared_tensor(dtype=uint8, shape=[bk, bn // 2])
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        for at in range(0, k, bk):
            self.copy_async(ga, sa, offsets=[row, at])
            self.copy_async(gb, sb, offsets=[at, bn // 2 * self.blockIdx.y])
            self.copy_async_wait_all()
            self.sync()
            self.dot(self.load_shared(sa), self.unpacked(self.load_shared(sb)), acc, out=acc)
            self.sync()
        scale = self.load_global(gs, offsets=[column], shape=[bn])
        self.store_global(gc, acc * scale, offsets=[row, column])


def case(m=20, n=72, k=100):
    """Sizes that tiles do not divide."""
    rng = np.random.default_rng(0)
    a, weights = halves(1, m, k), rng.integers(-8, 8, (k, n))
    bits = (weights + 8).astype(np.uint8)
    packed = bits[:, ::2] | (bits[:, 1::2] << 4)
    scale, c = rng.random(n, np.float32), np.zeros((m, n), np.float32)
    expected = (a.astype(np.float32) @ weights.astype(np.float32)) * scale
    launch = Launch(MatmulInt4(), (m, n, k, a, packed, scale, c))
    return Case((launch,), c, expected, atol=1e-4, rtol=1e-4)


if __name__ == "__main__":
    show(case())
