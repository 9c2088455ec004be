# SPDX-License-Identifier: Apache-2.0
"""Steps of the heat equation: planes of a grid pass through a ring of shared tiles with a halo."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float32, int32


class Heat(tile.Script):
    """A block moves along the first dimension; the next plane is copied while one is computed."""

    HALO = 1

    def __init__(self, rows=8, columns=16, rate=0.125):
        super().__init__()
        self.rows, self.columns, self.rate = rows, columns, rate

    def __call__(self, depth: int32, m: int32, n: int32, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = self.utils.cdiv(m, self.rows), self.utils.cdiv(n, self.columns)
        self.attrs.warps = 2
        halo, rows, columns = self.HALO, self.rows, self.columns
        x = self.global_view(x_ptr, dtype=float32, shape=[depth, m, n])
        y = self.global_view(y_ptr, dtype=float32, shape=[depth, m, n])
        row, column = self.blockIdx.x * rows, self.blockIdx.y * columns
        ring = self.shared_tensor(dtype=float32, shape=[4, rows + 2 * halo, columns + 2 * halo])

        def fetch(plane):
            self.copy_async(
                x, ring[plane % 4], offsets=[plane, row - halo, column - halo], dims=[1, 2]
            )
            self.copy_async_commit_group()

        def part(plane, down=0, right=0):
            top, left = halo + down, halo + right
            return self.load_shared(ring[plane % 4, top : top + rows, left : left + columns])

        fetch(0)
        fetch(1)
        below = self.register_tensor(dtype=float32, shape=[rows, columns], init=0.0)
        for z in range(depth):
            fetch(z + 2)
            self.copy_async_wait_group(1)
            self.sync()
            middle = part(z)
            total = below + part(z + 1) - 6.0 * middle
            for down, right in [(-1, 0), (1, 0), (0, -1), (0, 1)]:
                total = total + part(z, down, right)
            self.store_global(y, middle + self.rate * total, offsets=[z, row, column], dims=[1, 2])
            below = middle


def case(depth=5, m=19, n=21):
    x = np.random.default_rng(0).integers(-64, 64, (depth, m, n)).astype(np.float32)
    y = np.zeros_like(x)
    around = np.pad(x, 1)
    total = -6 * x
    for axis in range(3):
        for shift in (0, 2):
            begin = [shift if axis == each else 1 for each in range(3)]
            whole = zip(begin, x.shape, strict=True)
            total = total + around[tuple(slice(at, at + size) for at, size in whole)]
    return Case((Launch(Heat(), (depth, m, n, x, y)),), y, x + 0.125 * total)
