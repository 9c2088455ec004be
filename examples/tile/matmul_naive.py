# SPDX-License-Identifier: Apache-2.0
"""A matmul that loads its operands from global memory to registers."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves, show
from xtc import tile
from xtc.tile import float16, float32, int32


class MatmulNaive(tile.Script):
    """Each warp loads its own operands."""

    def __init__(self, block_m=32, block_n=32, block_k=32):
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
        gb = self.global_view(b_ptr, dtype=float16, shape=[k, n])
        gc = self.global_view(c_ptr, dtype=float16, shape=[m, n])
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        for at in range(0, k, bk):
            a = self.load_global(ga, offsets=[row, at], shape=[bm, bk])
            b = self.load_global(gb, offsets=[at, column], shape=[bk, bn])
            self.dot(a, b, acc, out=acc)
        self.store_global(gc, self.cast(acc, dtype=float16), offsets=[row, column])


def case(m=65, n=70, k=90):
    """Sizes that tiles do not divide."""
    a, b = halves(0, m, k), halves(1, k, n)
    c = np.zeros((m, n), np.float16)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    return Case((Launch(MatmulNaive(), (m, n, k, a, b, c)),), c, expected, atol=4e-3, rtol=4e-3)


if __name__ == "__main__":
    show(case())
