# SPDX-License-Identifier: Apache-2.0
"""Tile kernels with loops, and groups of threads, that end early."""

from __future__ import annotations

import math

from xtc import tile
from xtc.tile import float32, int32


class Nested(tile.Script):
    """Counts what loops do that break and continue inside of loops that break."""

    def __call__(self, n: int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        count: int32 = 0
        i: int32 = 0
        while i < 4:
            i += 1
            j: int32 = 0
            while j < 5:
                j += 1
                if j == i:
                    break
                if j == 2:
                    continue
                count += 1
            for k in self.range(5):
                if k > i:
                    break
                count += 10
            if i == n:
                break
        y = self.global_view(y_ptr, dtype=int32, shape=[1])
        self.store_global(y, self.register_tensor(dtype=int32, shape=[1], init=count), offsets=[0])


class Returning(tile.Script):
    """Marks the numbers below n that two loops come by, and 20 unless the kernel has returned."""

    def mark(self, y: tile.GlobalTensor, at: int32):
        self.store_global(y, self.register_tensor(dtype=int32, shape=[1], init=1), offsets=[at])

    def rows(self, y: tile.GlobalTensor, n: int32):
        for i in self.range(4):
            for j in self.range(4):
                if i * 4 + j == n:
                    return
                self.mark(y, i * 4 + j)
            self.mark(y, 16 + i)

    def __call__(self, n: int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        y = self.global_view(y_ptr, dtype=int32, shape=[21])
        self.rows(y, n)
        k: int32 = 0
        while k < 5:
            k += 1
            if k == n:
                return
        self.mark(y, 20)


class GroupLeft(tile.Script):
    """A group of threads that returns: refused."""

    def __call__(self, n: int32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        with self.thread_group(0, 32):
            if n > 3:
                return
        self.sync()


class NumberFunctions(tile.Script):
    """Functions of Python's `math` on a number of run time."""

    def __call__(self, x: float32, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        y = self.global_view(y_ptr, dtype=float32, shape=[7])
        results = [math.trunc(x), math.trunc(-x), math.fabs(-x), math.pow(x, 2.0), math.tan(x)]
        results += [float32(math.isnan(x)), float32(math.isinf(x / 0.0))]
        for at, result in enumerate(results):
            made = self.register_tensor(dtype=float32, shape=[1], init=result)
            self.store_global(y, made, offsets=[at])


class NoFunction(tile.Script):
    """A function of `math` that kernels have not."""

    def __call__(self, x: float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        self.printf("%f", math.acos(x))
