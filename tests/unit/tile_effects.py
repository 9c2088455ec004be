# SPDX-License-Identifier: Apache-2.0
"""Tile kernels with atomic instructions in conditions."""

from __future__ import annotations

from xtc import tile
from xtc.tile import int32


class Effects(tile.Script):
    """Each expression counts how often it is evaluated."""

    def __call__(self, n: int32, count_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        counts = self.global_view(count_ptr, dtype=int32, shape=[8])
        y = self.global_view(y_ptr, dtype=int32, shape=[4])
        steps: int32 = 0
        while self.count(counts, 0) < n:
            steps += 1
        while self.count(counts, 1) < n:
            if steps >= 3:
                break
        both: int32 = 0
        for i in range(n):
            if i > 1 and self.count(counts, 2) >= 0:
                both += 1
            if i > 1 or self.count(counts, 3) >= 0:
                both += 1
        chosen = self.count(counts, 4) if n > 100 else self.count(counts, 5)
        constant = 7 if n > 0 else self.count(counts, 6)
        for at, value in enumerate([steps, both, chosen, constant]):
            self.store_global(
                y, self.register_tensor(dtype=int32, shape=[1], init=value), offsets=[at]
            )

    def count(self, counts, at):
        single = self.register_tensor(dtype=int32, shape=[1], init=1)
        cell = self.global_view(~counts[at], dtype=int32, shape=[1])
        return self.atomic.global_add(cell, single).item()


class SpinLock(tile.Script):
    """Each block adds 1 under a lock that it takes in the condition of a loop."""

    def __call__(self, x_ptr: ~int32):
        self.attrs.blocks = 3
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=int32, shape=[1])
        lock = self.global_tensor(dtype=int32, shape=[1], requires_clean=True)
        free = self.register_tensor(dtype=int32, shape=[1], init=0)
        taken = self.register_tensor(dtype=int32, shape=[1], init=1)
        while self.atomic.global_cas(lock, free, taken, sem="acquire").item() == 1:
            pass
        self.sync()
        self.store_global(x, self.load_global(x, offsets=[0], shape=[1]) + 1, offsets=[0])
        self.sync()
        self.atomic.global_exch(lock, free, sem="release")
