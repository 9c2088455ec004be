# SPDX-License-Identifier: Apache-2.0
"""Rows longer than a block: the blocks of a cluster exchange sums through global memory."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float32, int32

ARCH = "sm_90a"


class Shifted(tile.Script):
    """y = x + sum(x) of each row: a part per block, which all exchange through global memory."""

    def __init__(self, blocks=4, width=32, rows=8):
        super().__init__()
        self.blocks, self.width, self.rows = blocks, width, rows

    def __call__(self, m: int32, n: int32, x_ptr: ~float32, y_ptr: ~float32):
        rows, width = self.rows, self.width
        self.attrs.blocks = self.blocks, self.utils.cdiv(m, rows)
        self.attrs.cluster_blocks = self.blocks
        self.attrs.warps = 2
        x, y = [self.global_view(p, dtype=float32, shape=[m, n]) for p in (x_ptr, y_ptr)]
        sums = self.global_tensor(
            dtype=float32, shape=[self.utils.cdiv(m, rows), self.blocks, rows], requires_clean=False
        )
        s = self.shared_tensor(dtype=float32, shape=[rows, width])
        full = self.mbarrier.alloc(1)
        row, column = self.blockIdx.y * rows, self.blockIdx.x * width
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(full, s.nbytes)
            self.tma.global_to_shared(src=x, dst=s, offsets=[row, column], mbarrier=full)
        self.mbarrier.wait(full, phase=0)
        t = self.load_shared(s)
        part = self.sum(t, dim=1)
        self.store_global(sums, part, offsets=[self.blockIdx.y, self.blockIdx.x, 0], dims=[2])
        self.cluster.sync()
        parts = self.load_global(
            sums, offsets=[self.blockIdx.y, 0, 0], shape=[self.blocks, rows], dims=[1, 2]
        )
        total = self.sum(parts, dim=0)
        self.store_global(y, t + self.unsqueeze(total, dim=1), offsets=[row, column])


def case(m=13, n=100):
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    y = np.zeros_like(x)
    expected = x + x.sum(1, keepdims=True)
    return Case((Launch(Shifted(), (m, n, x, y)),), y, expected, atol=1e-4, rtol=1e-4)
