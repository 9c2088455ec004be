# SPDX-License-Identifier: Apache-2.0
"""A tile kernel that multiplies operands of any types."""

from __future__ import annotations

from xtc import tile
from xtc.tile import void_p


class Dot(tile.Script):
    """c = a @ b, of 32 x 32 and 32 x 16; through shared memory if `shared` is set."""

    def __init__(
        self, left: tile.DataType, right: tile.DataType, total: tile.DataType, shared: bool = False
    ):
        super().__init__()
        self.left, self.right, self.total, self.shared = left, right, total, shared

    def __call__(self, a_ptr: void_p, b_ptr: void_p, c_ptr: void_p):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        ga = self.global_view(a_ptr, dtype=self.left, shape=[32, 32])
        gb = self.global_view(b_ptr, dtype=self.right, shape=[32, 16])
        gc = self.global_view(c_ptr, dtype=self.total, shape=[32, 16])
        a = self.load_global(ga, offsets=[0, 0], shape=[32, 32])
        b = self.load_global(gb, offsets=[0, 0], shape=[32, 16])
        if self.shared:
            sa = self.shared_tensor(dtype=self.left, shape=[32, 32])
            sb = self.shared_tensor(dtype=self.right, shape=[32, 16])
            self.store_shared(sa, a)
            self.store_shared(sb, b)
            self.sync()
            a = self.load_shared(sa)
            b = self.load_shared(sb)
        self.store_global(gc, self.dot(a, b, acc_dtype=self.total), offsets=[0, 0])


class OddDots(tile.Script):
    """d = (a + 1) @ b @ b^T plus its row sums, for any sizes."""

    def __init__(self, sizes: tuple[int, int, int], dtype: tile.DataType, total: tile.DataType):
        super().__init__()
        self.sizes, self.dtype, self.total = sizes, dtype, total

    def __call__(self, a_ptr: void_p, b_ptr: void_p, d_ptr: void_p):
        m, n, k = self.sizes
        self.attrs.blocks = 1
        self.attrs.warps = 3
        ga = self.global_view(a_ptr, dtype=self.dtype, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=self.dtype, shape=[k, n])
        gd = self.global_view(d_ptr, dtype=self.total, shape=[m, k])
        a = self.load_global(ga, offsets=[0, 0], shape=[m, k]) + 1
        b = self.load_global(gb, offsets=[0, 0], shape=[k, n])
        c = self.cast(self.dot(a, b, acc_dtype=self.total), dtype=self.dtype)
        d = self.dot(c, self.transpose(b), acc_dtype=self.total)
        self.store_global(gd, d + self.sum(d, dim=1, keepdim=True), offsets=[0, 0])
