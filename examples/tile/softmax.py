# SPDX-License-Identifier: Apache-2.0
"""Softmax of rows of any length."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, show
from xtc import tile
from xtc.tile import float32, int32


class Softmax(tile.Script):
    """A block computes several complete rows."""

    def __init__(self, rows=4):
        super().__init__()
        self.rows = rows

    def __call__(self, m: int32, n: int, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = self.utils.cdiv(m, self.rows)
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float32, shape=[m, n])
        y = self.global_view(y_ptr, dtype=float32, shape=[m, n])
        row = self.blockIdx.x * self.rows
        size = 1
        while size < n:
            size *= 2
        t = self.load_global(x, offsets=[row, 0], shape=[self.rows, size])
        column = self.register_tensor(dtype=int32, shape=[1, size], init=lambda i, j: j)
        t = self.where(column < n, t, float("-inf"))
        t = self.exp(t - self.max(t, dim=1, keepdim=True))
        share = 1.0 / self.sum(t, dim=1, keepdim=True)  # a division per row, not per element
        self.store_global(y, t * share, offsets=[row, 0])


def case(m=33, n=77):
    """Rows whose length is not a power of two."""
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    y = np.zeros_like(x)
    expected = np.exp(x - x.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    return Case((Launch(Softmax(), (m, n, x, y)),), y, expected)


if __name__ == "__main__":
    show(case())
