# SPDX-License-Identifier: Apache-2.0
"""One pass of a radix sort: a histogram in shared memory, prefix sums, ranks and a scatter."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import int32, uint32


class RadixSort(tile.Script):
    """A block sorts by digits of two bits; equal digits keep their order."""

    def __init__(self, n=128, bits=2, warps=2):
        super().__init__()
        self.n, self.bits, self.warps = n, bits, warps

    def __call__(self, count: int32, digits: int, x_ptr: ~uint32, y_ptr: ~uint32):
        n = self.n
        self.attrs.blocks = 1
        self.attrs.warps = self.warps
        x = self.global_view(x_ptr, dtype=uint32, shape=[count])
        y = self.global_view(y_ptr, dtype=uint32, shape=[count])
        keys = self.shared_tensor(dtype=uint32, shape=[n])
        counts = self.shared_tensor(dtype=int32, shape=[4])
        i = self.register_tensor(dtype=int32, shape=[n], init=lambda i: i)
        t = self.where(i < count, self.load_global(x, offsets=[0], shape=[n]), 0xFFFFFFFF)
        for digit in range(digits):
            code = self.cast((t >> (digit * self.bits)) & 3, int32)
            self.store_shared(counts, self.register_tensor(dtype=int32, shape=[4], init=0))
            self.sync()
            ones = self.register_tensor(dtype=int32, shape=[n], init=1)
            self.atomic.shared_scatter_add(counts, dim=0, indices=code, values=ones)
            self.sync()
            first = self.cumsum(self.load_shared(counts), dim=0, exclusive=True)
            at = self.register_tensor(dtype=int32, shape=[n], init=0)
            for value in self.range(4, unroll="all"):
                mine = self.cast(code == value, int32)
                rank = self.cumsum(mine, dim=0, exclusive=True) + first[value]
                at = self.where(code == value, rank, at)
            self.store_shared_scatter(keys, dim=0, indices=at, values=t)
            self.sync()
            t = self.load_shared(keys)
        self.store_global(y, t, offsets=[0])


def case(count=100, digits=5):
    x = np.random.default_rng(0).integers(0, 1 << 10, count).astype(np.uint32)
    y = np.zeros_like(x)
    return Case((Launch(RadixSort(), (count, digits, x, y)),), y, np.sort(x))
