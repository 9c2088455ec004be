# SPDX-License-Identifier: Apache-2.0
"""Kernels whose barriers other compilers have lost or moved: in a branch for some threads, in a
loop there, at the end of a loop, before memory is reused, in an else branch.

The wrong kernels are the results of those bugs; the correct ones have to compute `expected`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.unit.tile_adversaries.base import Adversary
from xtc.tile import float16, float32


class PartOfAWarp(Adversary):
    """48 of 64 threads exchange elements: not a whole number of warps."""

    kind, sizes = "missing sync", (48, 48)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 2
        x = self.global_view(x_ptr, dtype=float32, shape=[6, 8])
        y = self.global_view(y_ptr, dtype=float32, shape=[8, 6])
        s = self.shared_tensor(dtype=float32, shape=[6, 8])
        t = self.load_global(x, offsets=[0, 0], shape=[6, 8])
        self.store_shared(s, t)  # PartOfAWarp 1
        if self.right:
            self.sync()
        u = self.load_shared(s.transpose())  # PartOfAWarp 2
        self.store_global(y, u, offsets=[0, 0])

    @staticmethod
    def expected(x: Any) -> Any:
        return x.reshape(6, 8).T.reshape(-1)


class LoopInAGroup(Adversary):
    """A warp exchanges elements in a loop; the barrier is before the branch and not in the loop."""

    kind, sizes = "missing sync", (1024, 1024)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x = self.global_view(x_ptr, dtype=float32, shape=[32, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[32, 32])
        s = self.shared_tensor(dtype=float32, shape=[8, 32])
        self.sync()
        with self.single_warp(2):
            for i in range(4):
                t = self.load_global(x, offsets=[8 * i, 0], shape=[8, 32])
                self.store_shared(s, t)  # LoopInAGroup 1
                if self.right:
                    self.sync()
                u = self.load_shared(s.transpose())  # LoopInAGroup 2
                self.store_global(y, u, offsets=[0, 8 * i])
                self.sync()

    @staticmethod
    def expected(x: Any) -> Any:
        return x.reshape(32, 32).T.reshape(-1)


class SharedOperand(Adversary):
    """All threads stage an operand, two groups multiply it, and it is staged again."""

    kind, sizes = "missing sync", (4096, 4096)
    types = (np.float16, np.float32)

    def __call__(self, x_ptr: ~float16, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x = self.global_view(x_ptr, dtype=float16, shape=[64, 64])
        y = self.global_view(y_ptr, dtype=float32, shape=[64, 64])
        a = self.shared_tensor(dtype=float16, shape=[64, 16])
        b = self.shared_tensor(dtype=float16, shape=[2, 16, 32])
        for at in self.range(0, 64, 16, unroll="all"):
            self.copy_async(x, a, offsets=[0, at])  # SharedOperand 2
            for half in range(2):
                self.copy_async(x, b[half], offsets=[at, 32 * half])
            self.copy_async_wait_all()
            self.sync()
            for half in self.range(2, unroll="all"):
                with self.warp_group(2 * half, 2):
                    acc = self.register_tensor(dtype=float32, shape=[64, 32], init=0.0)
                    if at > 0:
                        acc = self.load_global(y, offsets=[0, 32 * half], shape=[64, 32])
                    left = self.load_shared(a)  # SharedOperand 1
                    acc = self.dot(left, self.load_shared(b[half]), acc)
                    self.sync()
                    self.store_global(y, acc, offsets=[0, 32 * half])
                    self.sync()
            if self.right:
                self.sync()

    @staticmethod
    def expected(x: Any) -> Any:
        wide = x.reshape(64, 64).astype(np.float32)
        return (wide @ wide).reshape(-1)


class ClearedMemory(Adversary):
    """A tensor is read for the last time, and its memory is cleared for another one."""

    kind, sizes = "freed while used", (1024, 1024)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x = self.global_view(x_ptr, dtype=float32, shape=[32, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[32, 32])
        query = self.shared_tensor(dtype=float32, shape=[32, 32])
        self.store_shared(query, self.load_global(x, offsets=[0, 0], shape=[32, 32]))
        self.sync()
        t = self.load_shared(query.transpose())  # ClearedMemory 1
        if self.right:
            self.sync()
        self.free_shared(query)
        total = self.shared_tensor(dtype=float32, shape=[32, 32])
        zero = self.register_tensor(dtype=float32, shape=[32, 32], init=0.0)
        self.store_shared(total, zero)  # ClearedMemory 2
        self.sync()
        self.store_global(y, t + self.load_shared(total), offsets=[0, 0])

    @staticmethod
    def expected(x: Any) -> Any:
        return x.reshape(32, 32).T.reshape(-1)


class OtherBranch(Adversary):
    """Of two branches for different threads, the second one has the barrier."""

    kind, sizes = "missing sync", (256, 256)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x = self.global_view(x_ptr, dtype=float32, shape=[8, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[32, 8])
        s = self.shared_tensor(dtype=float32, shape=[8, 16])
        with self.warp_group(0, 2):
            t = self.load_global(x, offsets=[0, 0], shape=[8, 16])
            self.store_global(y, self.transpose(t), offsets=[0, 0])
        with self.warp_group(2, 2):
            u = self.load_global(x, offsets=[0, 16], shape=[8, 16])
            self.store_shared(s, u)  # OtherBranch 1
            if self.right:
                self.sync()
            self.store_global(y, self.load_shared(s.transpose()), offsets=[16, 0])  # OtherBranch 2

    @staticmethod
    def expected(x: Any) -> Any:
        return x.reshape(8, 32).T.reshape(-1)


class ReadThenFilled(Adversary):
    """A loop reads a tensor and then fills it for the next iteration."""

    kind, sizes = "missing sync", (4096, 4096)

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        x = self.global_view(x_ptr, dtype=float32, shape=[128, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[32, 128])
        s = self.shared_tensor(dtype=float32, shape=[32, 32])
        self.copy_async(x, s, offsets=[0, 0])
        self.copy_async_wait_all()
        self.sync()
        for i in range(4):
            t = self.load_shared(s.transpose())  # ReadThenFilled 1
            if self.right:
                self.sync()
            self.copy_async(x, s, offsets=[32 * (i + 1), 0])  # ReadThenFilled 2
            self.store_global(y, t, offsets=[0, 32 * i])
            self.copy_async_wait_all()
            self.sync()

    @staticmethod
    def expected(x: Any) -> Any:
        return x.reshape(128, 32).T.reshape(-1)
