# SPDX-License-Identifier: Apache-2.0
"""Layer normalization of rows, with scale and shift."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, show
from xtc import tile
from xtc.tile import float32, int32


class LayerNorm(tile.Script):
    """A block computes several rows; the variance is the mean square of centered elements."""

    def __init__(self, rows=4):
        super().__init__()
        self.rows = rows

    def __call__(
        self,
        m: int32,
        n: int,
        epsilon: float32,
        x_ptr: ~float32,
        scale_ptr: ~float32,
        shift_ptr: ~float32,
        y_ptr: ~float32,
    ):
        self.attrs.blocks = self.utils.cdiv(m, self.rows)
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float32, shape=[m, n])
        y = self.global_view(y_ptr, dtype=float32, shape=[m, n])
        scale = self.global_view(scale_ptr, dtype=float32, shape=[n])
        shift = self.global_view(shift_ptr, dtype=float32, shape=[n])
        row = self.blockIdx.x * self.rows
        size = 1
        while size < n:
            size *= 2
        t = self.load_global(x, offsets=[row, 0], shape=[self.rows, size])
        column = self.register_tensor(dtype=int32, shape=[1, size], init=lambda i, j: j)
        centered = self.where(column < n, t - self.sum(t, dim=1, keepdim=True) / n, 0.0)
        variance = self.sum(self.square(centered), dim=1, keepdim=True) / n
        g = self.load_global(scale, offsets=[0], shape=[size])
        b = self.load_global(shift, offsets=[0], shape=[size])
        self.store_global(y, centered * self.rsqrt(variance + epsilon) * g + b, offsets=[row, 0])


def case(m=19, n=100):
    """Rows whose length is not a power of two."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, n)).astype(np.float32)
    g, b = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    y = np.zeros_like(x)
    centered = x - x.mean(1, keepdims=True)
    expected = centered / np.sqrt((centered**2).mean(1, keepdims=True) + 1e-5) * g + b
    launch = Launch(LayerNorm(), (m, n, 1e-5, x, g, b, y))
    return Case((launch,), y, expected, atol=2e-5, rtol=2e-5)


if __name__ == "__main__":
    show(case())
