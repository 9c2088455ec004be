# SPDX-License-Identifier: Apache-2.0
"""A radix sort of keys in a block: prefix sums of digits are positions in shared memory."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import int32, uint32


class RadixSort(tile.Script):
    """Sorts by the digits from the lowest on; each pass keeps the order of equal digits."""

    def __init__(self, count=128, bits=2):
        super().__init__()
        self.count, self.bits = count, bits

    def __call__(self, n: int32, keys_ptr: ~uint32, sorted_ptr: ~uint32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        keys = self.global_view(keys_ptr, dtype=uint32, shape=[n])
        result = self.global_view(sorted_ptr, dtype=uint32, shape=[n])
        numbers = self.register_tensor(dtype=int32, shape=[self.count], init=lambda i: i)
        given = self.load_global(keys, offsets=[0], shape=[self.count])
        s = self.shared_tensor(dtype=uint32, shape=[self.count])
        self.store_shared(s, self.where(numbers < n, given, 0xFFFFFFFF))
        self.sync()
        for shift in range(0, 16, self.bits):
            key = self.load_shared(s)
            self.sync()
            position = self.positions(self.cast((key >> shift) & (2**self.bits - 1), int32))
            self.store_shared_scatter(s, dim=0, indices=position, values=key)
            self.sync()
        self.store_global(result, self.load_shared(s), offsets=[0])

    def positions(self, digit):
        digits = self.register_tensor(
            dtype=int32, shape=[self.count, 2**self.bits], init=lambda i, j: j
        )
        equal = self.cast(self.unsqueeze(digit, dim=1) == digits, int32)
        before = self.cumsum(equal, dim=0, exclusive=True)
        begin = self.cumsum(self.sum(equal, dim=0, keepdim=True), dim=1, exclusive=True)
        return self.sum(equal * (before + begin), dim=1)


def case(n=101):
    keys = np.random.default_rng(0).integers(0, 2**16, n).astype(np.uint32)
    found = np.zeros_like(keys)
    return Case((Launch(RadixSort(), (n, keys, found)),), found, np.sort(keys))
