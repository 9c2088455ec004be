# SPDX-License-Identifier: Apache-2.0
"""LU factors of small matrices with partial pivoting, and the permutation of their rows."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float32, int32


class Pivoting(tile.Script):
    """A block exchanges rows of a matrix in shared memory, where the pivot requires it."""

    def __init__(self, size=12):
        super().__init__()
        self.size = size

    def __call__(self, batch: int32, a_ptr: ~float32, lu_ptr: ~float32, pivot_ptr: ~int32):
        n = self.size
        self.attrs.blocks = batch
        self.attrs.warps = 2
        block = self.blockIdx.x
        a = self.global_view(a_ptr, dtype=float32, shape=[batch, n, n])
        lu = self.global_view(lu_ptr, dtype=float32, shape=[batch, n, n])
        pivots = self.global_view(pivot_ptr, dtype=int32, shape=[batch, n])
        s = self.shared_tensor(dtype=float32, shape=[n, n])
        self.store_shared(s, self.load_global(a, offsets=[block, 0, 0], shape=[n, n], dims=[1, 2]))
        self.sync()
        rows = self.register_tensor(dtype=int32, shape=[n, 1], init=lambda i, _: i)
        columns = self.register_tensor(dtype=int32, shape=[1, n], init=lambda _, j: j)
        for k in range(n):
            pivot = self.pivot(self.load_shared(s[:, k]), k)
            upper, lower = self.load_shared(s[k]), self.load_shared(s[pivot])
            self.sync()
            if pivot != k:
                self.store_shared(s[k], lower)
                self.store_shared(s[pivot], upper)
            chosen = self.register_tensor(dtype=int32, shape=[1], init=pivot)
            self.store_global(pivots, chosen, offsets=[block, k], dims=[1])
            self.sync()
            factor = self.unsqueeze(self.load_shared(s[:, k]), dim=1) / s[k, k].item()
            top = self.unsqueeze(self.load_shared(s[k]), dim=0)
            whole = self.load_shared(s)
            inner = self.where(columns > k, whole - factor * top, factor)
            self.sync()
            self.store_shared(s, self.where((rows > k) & (columns >= k), inner, whole))
            self.sync()
        self.store_global(lu, self.load_shared(s), offsets=[block, 0, 0], dims=[1, 2])

    def pivot(self, column, k):
        """The row of the largest element from row k on."""
        rows = self.register_tensor(dtype=int32, shape=[self.size], init=lambda i: i)
        size = self.where(rows >= k, self.abs(column), -1.0)
        return self.min(self.where(size == self.max(size), rows, self.size)).item()


def factored(matrix):
    found = matrix.astype(np.float64)
    for k in range(len(found)):
        pivot = k + int(np.argmax(np.abs(found[k:, k])))
        found[[k, pivot]] = found[[pivot, k]]
        found[k + 1 :, k] /= found[k, k]
        found[k + 1 :, k + 1 :] -= np.outer(found[k + 1 :, k], found[k, k + 1 :])
    return found


def case(batch=2, size=12):
    a = np.random.default_rng(0).standard_normal((batch, size, size)).astype(np.float32)
    lu, pivots = np.zeros_like(a), np.zeros((batch, size), np.int32)
    expected = np.stack([factored(each) for each in a])
    launch = Launch(Pivoting(size), (batch, a, lu, pivots))
    return Case((launch,), lu, expected, atol=1e-4, rtol=1e-4)
