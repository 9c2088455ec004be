# SPDX-License-Identifier: Apache-2.0
"""Tile kernels that read parts of shared tensors, and shared tensors in other shapes."""

from __future__ import annotations

from typing import Any

from xtc import tile
from xtc.tile import float16, float32, int32, void_p


class Blurred(tile.Script):
    """The sum of each element and its four neighbors, from a shared tile with a halo."""

    def __init__(self, rows: int, columns: int):
        super().__init__()
        self.rows, self.columns = rows, columns

    def __call__(self, m: int32, n: int32, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = self.utils.cdiv(m, self.rows), self.utils.cdiv(n, self.columns)
        self.attrs.warps = 2
        x = self.global_view(x_ptr, dtype=float32, shape=[m, n])
        y = self.global_view(y_ptr, dtype=float32, shape=[m, n])
        row, column = self.blockIdx.x * self.rows, self.blockIdx.y * self.columns
        s = self.shared_tensor(dtype=float32, shape=[self.rows + 2, self.columns + 2])
        self.copy_async(x, s, offsets=[row - 1, column - 1])
        self.copy_async_wait_all()
        self.sync()

        def part(i, j):
            return self.load_shared(s[i : i + self.rows, j : j + self.columns])

        total = part(1, 1) + part(1, 0) + part(1, 2)
        for i in range(0, 3, 2):
            above = s.slice(
                offsets=[i, 1], slice_dims=[0, 1], slice_shape=[self.rows, self.columns]
            )
            total = total + self.load_shared(above)
        self.store_global(y, total, offsets=[row, column])


class Reshaped(tile.Script):
    """y = x, through a shared tensor that is written in one shape and read in another."""

    def __init__(self, dtype: Any, written: list[int], read: list[int]):
        super().__init__()
        self.dtype, self.written, self.read = dtype, written, read

    def __call__(self, x_ptr: void_p, y_ptr: void_p):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=self.dtype, shape=self.written)
        y = self.global_view(y_ptr, dtype=self.dtype, shape=self.read)
        s = self.shared_tensor(dtype=self.dtype, shape=self.written)
        self.copy_async(x, s, offsets=[0, 0])
        self.copy_async_wait_all()
        self.sync()
        t = self.load_shared(self.reshape_shared(s, self.read))
        self.store_global(y, t, offsets=[0] * len(self.read))


class DotOfReshaped(tile.Script):
    """y = x z, where the rows of x are two rows of a shared tensor."""

    def __call__(self, x_ptr: ~float16, z_ptr: ~float16, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        s = self.shared_tensor(dtype=float16, shape=[128, 32])
        self.store_shared(s, self.loaded(x_ptr, [128, 32]))
        self.sync()
        x = self.load_shared(self.reshape_shared(s, [64, 64]))
        y = self.global_view(y_ptr, dtype=float32, shape=[64, 64])
        product = self.dot(x, self.loaded(z_ptr, [64, 64]), acc_dtype=float32)
        self.store_global(y, product, offsets=[0, 0])

    def loaded(self, pointer, shape):
        view = self.global_view(pointer, dtype=float16, shape=shape)
        return self.load_global(view, offsets=[0, 0], shape=shape)


class BulkReshaped(tile.Script):
    """A bulk copy fills a shared tensor, which is read with other rows."""

    def __call__(self, x_ptr: ~float16, y_ptr: ~float16):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float16, shape=[32, 64])
        s = self.shared_tensor(dtype=float16, shape=[32, 64])
        full = self.mbarrier.alloc(1)
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(full, s.nbytes)
            self.tma.global_to_shared(src=x, dst=s, offsets=[0, 0], mbarrier=full)
        self.mbarrier.wait(full, phase=0)
        t = self.load_shared(self.reshape_shared(s, [16, 128]))
        y = self.global_view(y_ptr, dtype=float16, shape=[16, 128])
        self.store_global(y, t, offsets=[0, 0])
