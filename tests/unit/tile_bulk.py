# SPDX-License-Identifier: Apache-2.0
"""Tile kernels that copy in bulk, and multiply by warpgroups; marks name the lines."""

from __future__ import annotations

from xtc import tile
from xtc.tile import float16, int32


class BulkDouble(tile.Script):
    """y = 2 x, by bulk copies both ways."""

    def __init__(self, rows=64, columns=128):
        super().__init__()
        self.rows, self.columns = rows, columns

    def __call__(self, m: int32, n: int32, x_ptr: ~float16, y_ptr: ~float16):
        self.attrs.blocks = [
            self.utils.cdiv(m, self.rows),
            self.utils.cdiv(n, self.columns),
        ]
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float16, shape=[m, n])
        y = self.global_view(y_ptr, dtype=float16, shape=[m, n])
        row, column = self.rows * self.blockIdx.x, self.columns * self.blockIdx.y
        s = self.shared_tensor(dtype=float16, shape=[2, self.rows, self.columns])
        barrier = self.mbarrier.alloc(1)
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(barrier, transaction_bytes=s[0].nbytes)  # expect
            self.tma.global_to_shared(src=x, dst=s[0], offsets=[row, column], mbarrier=barrier)
        self.mbarrier.wait(barrier, phase=0)  # wait
        self.store_shared(s[1], self.load_shared(s[0]) * 2)
        self.fence.proxy_async()  # fence
        self.sync()  # sync
        with self.single_thread():
            self.tma.shared_to_global(s[1], y, offsets=[row, column])
            self.tma.commit_group()  # commit
            self.tma.wait_group(0)  # stored
