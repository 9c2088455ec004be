# SPDX-License-Identifier: Apache-2.0
"""Tile kernels whose sizes, row strides and offsets are known at run time only."""

from __future__ import annotations

from typing import Any

from xtc import tile
from xtc.tile import float32, int32, void_p


class Shifted(tile.Script):
    """Moves columns of a matrix to the left, through registers or by asynchronous copies."""

    def __init__(
        self, dtype: Any, copies: bool = False, shape: tuple[int, int] = (8, 64), warps: int = 1
    ) -> None:
        super().__init__()
        self.dtype, self.copies, self.shape, self.warps = dtype, copies, shape, warps

    def __call__(self, m: int32, n: int32, ld: int32, skip: int32, x_ptr: void_p, y_ptr: void_p):
        rows, columns = self.shape
        self.attrs.blocks = [self.utils.cdiv(m, rows), self.utils.cdiv(n, columns)]
        self.attrs.warps = self.warps
        x = self.global_view(x_ptr, dtype=self.dtype, shape=[m, n], strides=[ld, 1])
        y = self.global_view(y_ptr, dtype=self.dtype, shape=[m, n], strides=[ld, 1])
        row, column = self.blockIdx.x * rows, self.blockIdx.y * columns
        if self.copies:
            s = self.shared_tensor(dtype=self.dtype, shape=self.shape)
            self.copy_async(x, s, offsets=[row, column + skip])
            self.copy_async_wait_all()
            self.sync()
            t = self.load_shared(s)
        else:
            t = self.load_global(x, offsets=[row, column + skip], shape=self.shape)
        self.store_global(y, t, offsets=[row, column])


class Doubled(tile.Script):
    """Doubles the elements of a vector."""

    def __init__(self, dtype: Any = float32, block: int = 256, warps: int = 1) -> None:
        super().__init__()
        self.dtype, self.block, self.warps = dtype, block, warps

    def __call__(self, n: int32, x_ptr: void_p, y_ptr: void_p):
        self.attrs.blocks, self.attrs.warps = self.utils.cdiv(n, self.block), self.warps
        x = self.global_view(x_ptr, dtype=self.dtype, shape=[n])
        y = self.global_view(y_ptr, dtype=self.dtype, shape=[n])
        at = self.blockIdx.x * self.block
        t = self.load_global(x, offsets=[at], shape=[self.block])
        self.store_global(y, t + t, offsets=[at])


class Scaled(tile.Script):
    """Doubles a matrix, whose rows may be assumed to be a multiple of some elements."""

    def __init__(self, assumed: int = 0) -> None:
        super().__init__()
        self.assumed = assumed

    def __call__(self, m: int32, n: int32, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = [self.utils.cdiv(m, 32), self.utils.cdiv(n, 128)]
        self.attrs.warps = 4
        if self.assumed:
            self.assume(n % self.assumed == 0)
        x = self.global_view(x_ptr, dtype=float32, shape=[m, n])
        y = self.global_view(y_ptr, dtype=float32, shape=[m, n])
        at = [self.blockIdx.x * 32, self.blockIdx.y * 128]
        self.store_global(y, self.load_global(x, offsets=at, shape=[32, 128]) * 2.0, offsets=at)
