# SPDX-License-Identifier: Apache-2.0
"""A sparse matrix in compressed rows times a vector: a warp adds up each row."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float32, int32


class SparseRows(tile.Script):
    def __init__(self, warps=4):
        super().__init__()
        self.warps = warps

    def __call__(
        self,
        m: int32,
        n: int32,
        count: int32,
        first_ptr: ~int32,
        column_ptr: ~int32,
        value_ptr: ~float32,
        x_ptr: ~float32,
        y_ptr: ~float32,
    ):
        self.attrs.blocks = self.utils.cdiv(m, self.warps)
        self.attrs.warps = self.warps
        first = self.global_view(first_ptr, dtype=int32, shape=[m + 1])
        columns = self.global_view(column_ptr, dtype=int32, shape=[count])
        values = self.global_view(value_ptr, dtype=float32, shape=[count])
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        y = self.global_view(y_ptr, dtype=float32, shape=[m])
        for warp in self.range(self.warps, unroll="all"):
            with self.single_warp(warp):
                row = self.blockIdx.x * self.warps + warp
                if row < m:
                    total: float32 = 0.0
                    for at in range(first[row].item(), first[row + 1].item()):
                        total += values[at].item() * x[columns[at].item()].item()
                    self.store_global(y, total, offsets=[row], dims=[])


def case(m=11, n=30):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.2)
    dense[3] = 0
    rows, columns = np.nonzero(dense)
    first = np.concatenate([[0], np.cumsum((dense != 0).sum(1))]).astype(np.int32)
    x, y = rng.standard_normal(n).astype(np.float32), np.zeros(m, np.float32)
    values = dense[rows, columns].astype(np.float32)
    launch = Launch(
        SparseRows(), (m, n, len(values), first, columns.astype(np.int32), values, x, y)
    )
    return Case((launch,), y, dense @ x, atol=1e-4)
