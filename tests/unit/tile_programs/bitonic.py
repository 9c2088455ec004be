# SPDX-License-Identifier: Apache-2.0
"""A bitonic sort of each row in shared memory, and a top-k and top-p of it."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float32, int32


class Bitonic(tile.Script):
    def __init__(self, n=64, warps=2):
        super().__init__()
        self.n, self.warps = n, warps

    def __call__(self, rows: int32, m: int32, x_ptr: ~float32, y_ptr: ~float32):
        n = self.n
        self.attrs.blocks = rows
        self.attrs.warps = self.warps
        gx = self.global_view(x_ptr, dtype=float32, shape=[rows, m])
        gy = self.global_view(y_ptr, dtype=float32, shape=[rows, m])
        x = self.load_global(gx, offsets=[self.blockIdx.x, 0], shape=[n], dims=[1])
        i = self.register_tensor(dtype=int32, shape=[n], init=lambda i: i)
        x = self.where(i < m, x, float("inf"))
        size = 2
        while size <= n:
            stride = size // 2
            while stride > 0:
                x = self.exchange(x, size, stride)
                stride //= 2
            size *= 2
        self.store_global(gy, x, offsets=[self.blockIdx.x, 0], dims=[1])

    def exchange(self, x, size, stride):
        n = self.n
        ascending = self.register_tensor(
            dtype=int32,
            shape=[n // (2 * stride), 1, 1],
            init=lambda i, j, k: (i * 2 * stride // size) % 2,
        )
        x = self.reshape(x, [n // (2 * stride), 2, stride])
        low = self.min(x, dim=1, keepdim=True)
        high = self.max(x, dim=1, keepdim=True)
        half = self.register_tensor(dtype=int32, shape=[1, 2, 1], init=lambda i, j, k: j)
        x = self.where(half == ascending, low, high)
        return self.reshape(x, [n])


def case(rows=3, m=50):
    x = np.random.default_rng(0).standard_normal((rows, m)).astype(np.float32)
    y = np.zeros_like(x)
    return Case((Launch(Bitonic(), (rows, m, x, y)),), y, np.sort(x, 1))
