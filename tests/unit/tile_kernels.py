# SPDX-License-Identifier: Apache-2.0
"""Tile kernels for tests."""

from __future__ import annotations

from typing import Any

from xtc import tile
from xtc.tile import float32, int32, void_p


class VectorAdd(tile.Script):
    def __init__(self, block: int = 512) -> None:
        super().__init__()
        self.block = block

    def __call__(self, n: int32, x_ptr: ~float32, y_ptr: ~float32, z_ptr: ~float32):
        self.attrs.blocks = self.utils.cdiv(n, self.block)
        self.attrs.warps = 4
        x, y, z = [self.global_view(p, dtype=float32, shape=[n]) for p in (x_ptr, y_ptr, z_ptr)]
        at: int32 = self.block * self.blockIdx.x
        a = self.load_global(x, offsets=[at], shape=[self.block])
        b = self.load_global(y, offsets=[at], shape=[self.block])
        self.store_global(z, a + b, offsets=[at])


class Matmul(tile.Script):
    def __init__(self, dtype: Any, total: Any, warps: int = 2) -> None:
        super().__init__()
        self.dtype, self.total, self.warps = dtype, total, warps

    def __call__(self, m: int32, n: int32, k: int32, a_ptr: void_p, b_ptr: void_p, c_ptr: void_p):
        self.attrs.blocks = [self.utils.cdiv(m, 32), self.utils.cdiv(n, 16)]
        self.attrs.warps = self.warps
        a = self.global_view(a_ptr, dtype=self.dtype, shape=[m, k])
        b = self.global_view(b_ptr, dtype=self.dtype, shape=[k, n])
        c = self.global_view(c_ptr, dtype=self.total, shape=[m, n])
        row, column = 32 * self.blockIdx.x, 16 * self.blockIdx.y
        acc = self.register_tensor(dtype=self.total, shape=[32, 16])
        for at in range(0, k, 16):
            x = self.load_global(a, offsets=[row, at], shape=[32, 16])
            y = self.load_global(b, offsets=[at, column], shape=[16, 16])
            self.dot(x, y, acc, out=acc)
        self.store_global(c, acc, offsets=[row, column])


class RowSoftmax(tile.Script):
    def __init__(self, rows: int = 4) -> None:
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
        self.store_global(y, t / self.sum(t, dim=1, keepdim=True), offsets=[row, 0])


class Control(tile.Script):
    def __call__(self, n: int32, x_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=int32, shape=[32])
        t = self.register_tensor(dtype=int32, shape=[32], init=lambda i: i)
        total: int32 = 0
        for i in range(n):
            if i == 7:
                break
            if i % 2 == 1:
                continue
            total += i
            t = t + i
        while total > 10:
            total -= 3
        extra = 6
        if n > 3:
            extra = 5
        for u in self.range(3, unroll="all"):
            t = t + u
        for u in range(10, 0, -3):
            total += u
        self.store_global(x, t + total * 100 + extra, offsets=[0])


class Shapes(tile.Script):
    def __call__(self, x_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        gx = self.global_view(x_ptr, dtype=int32, shape=[32, 48])
        gy = self.global_view(y_ptr, dtype=int32, shape=[48, 32])
        x = self.load_global(gx, offsets=[0, 0], shape=[32, 48])
        rows = self.unsqueeze(self.sum(x, dim=1), dim=0)
        columns = self.unsqueeze(self.max(x, dim=0), dim=1)
        place = self.register_tensor(dtype=int32, shape=[48, 32], init=lambda i, j: i)
        y = self.transpose(x) + rows * 2 + columns - self.min(x) + place
        self.store_global(gy, y, offsets=[0, 0])


class Copy(tile.Script):
    def __init__(self, dtype: str) -> None:
        super().__init__()
        self.dtype = getattr(tile, dtype)

    def __call__(self, m: int32, n: int, x_ptr: void_p, y_ptr: void_p):
        self.attrs.blocks = [self.utils.cdiv(m, 16), self.utils.cdiv(n, 32)]
        self.attrs.warps = 2
        x = self.global_view(x_ptr, dtype=self.dtype, shape=[m, n])
        y = self.global_view(y_ptr, dtype=self.dtype, shape=[m, n])
        s = self.shared_tensor(dtype=self.dtype, shape=[16, 32])
        at = [16 * self.blockIdx.x, 32 * self.blockIdx.y]
        self.copy_async(x, s, offsets=at)
        self.copy_async_commit_group()
        self.copy_async_wait_group(0)
        self.sync()
        self.store_global(y, self.load_shared(s), offsets=at)


class Listed(tile.Script):
    def __init__(self, sizes: Any) -> None:
        super().__init__()
        self.sizes = sizes

    def __call__(self, x: ~float32) -> None:
        self.attrs.blocks = 1
        self.attrs.warps = 1
        g = self.global_view(x, dtype=float32, shape=self.sizes)
        self.store_global(g, self.load_global(g, offsets=[0, 0], shape=self.sizes), offsets=[0, 0])


class EarlyReturns(tile.Script):
    """A method that returns early, on constant and on run-time conditions."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def __call__(self, n: int32, x_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=int32, shape=[64])
        t = self.load_global(x, offsets=[0], shape=[64])
        for _ in range(2):
            t = self.changed(t, n)
        self.store_global(x, t, offsets=[0])

    def changed(self, t, n):
        """The same function in Python."""
        if self.kind == "plain":
            return t + 1
        if self.kind == "both":
            if n > 3:
                return t + 2
            t = t + 10
        elif n == 7:
            t = t + 100
        u = t * 2
        if n == 8:
            return u
        return u + 3


class NewNames(tile.Script):
    """x += 3 by loops that each define a new name and attribute."""

    def __call__(self, n: int32, x_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=int32, shape=[n])
        for at in range(0, n, 32):
            loaded = self.load_global(x, offsets=[at], shape=[32])
            self.more = loaded + 1
            self.store_global(x, self.more, offsets=[at])
        for at in range(0, n, 32):
            loaded = self.load_global(x, offsets=[at], shape=[32])
            self.more = loaded + 1
            self.store_global(x, self.more, offsets=[at])
        for at in range(0, n, 32):
            loaded = self.load_global(x, offsets=[at], shape=[32])
            self.more = loaded + 1
            self.store_global(x, self.more, offsets=[at])
