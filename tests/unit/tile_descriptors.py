# SPDX-License-Identifier: Apache-2.0
"""A tile kernel whose operands come by bulk copies and are read by warpgroup multiplications."""

from __future__ import annotations

from xtc import tile
from xtc.tile import float16, float32, int32, void_p


class BulkProduct(tile.Script):
    """c = a b: one tile of each, plain or transposed in shared memory."""

    def __init__(self, dtype=float16, a_transposed=False, b_transposed=False, warps=4):
        super().__init__()
        self.dtype, self.warps = dtype, warps
        self.total = float32 if dtype.is_float() else int32
        self.a_transposed, self.b_transposed = a_transposed, b_transposed

    def __call__(self, m: int, n: int, k: int, a_ptr: void_p, b_ptr: void_p, c_ptr: void_p):
        self.attrs.blocks = 1
        self.attrs.warps = self.warps
        a_shape = [k, m] if self.a_transposed else [m, k]
        b_shape = [n, k] if self.b_transposed else [k, n]
        ga = self.global_view(a_ptr, dtype=self.dtype, shape=a_shape)
        gb = self.global_view(b_ptr, dtype=self.dtype, shape=b_shape)
        gc = self.global_view(c_ptr, dtype=self.total, shape=[m, n])
        sa = self.shared_tensor(dtype=self.dtype, shape=a_shape)
        sb = self.shared_tensor(dtype=self.dtype, shape=b_shape)
        barrier = self.mbarrier.alloc(1)
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(barrier, sa.nbytes + sb.nbytes)
            self.tma.global_to_shared(src=ga, dst=sa, offsets=[0, 0], mbarrier=barrier)
            self.tma.global_to_shared(src=gb, dst=sb, offsets=[0, 0], mbarrier=barrier)
        self.mbarrier.wait(barrier, phase=0)
        acc = self.register_tensor(dtype=self.total, shape=[m, n], init=0)
        self.wgmma.fence()
        self.wgmma.mma(
            sa.transpose() if self.a_transposed else sa,
            sb.transpose() if self.b_transposed else sb,
            acc,
        )
        self.wgmma.commit_group()
        self.wgmma.wait_group(0)
        self.store_global(gc, acc, offsets=[0, 0])
