# SPDX-License-Identifier: Apache-2.0
"""Tile kernels whose methods return values from loops."""

from __future__ import annotations

from xtc import tile
from xtc.tile import int32


class Returns(tile.Script):
    """Methods that return from run-time loops, and from an unrolled loop."""

    def __call__(self, n: int32, x_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=int32, shape=[n])
        y = self.global_view(y_ptr, dtype=int32, shape=[8])
        a, b = self.pair(x, n, 50)
        t = self.doubled(x, n)
        out = [
            self.find(x, n, 7),
            self.find(x, n, 99),
            self.nested(n),
            self.power(20),
            self.forever(n),
            a,
            b,
            self.sum(t),
        ]
        for i, v in enumerate(out):
            self.store_global(y, self.register_tensor(dtype=int32, shape=[1], init=v), offsets=[i])

    def find(self, x, n, wanted):
        for i in range(n):
            if x[i].item() == wanted:
                return i
        return -1

    def nested(self, n):
        for i in range(n):
            for j in range(i):
                if i * j > 10:
                    return i * 100 + j
            if i > 50:
                return 1
        return 0

    def power(self, n):
        p = 1
        while True:
            if p >= n:
                return p
            p *= 2

    def forever(self, n):
        i: int32 = 0
        while True:
            i += 3
            if i > n:
                return i

    def pair(self, x, n, limit):
        total: int32 = 0
        for i in range(n):
            total += x[i].item()
            if total > limit:
                return i, total
        return n, 0

    def doubled(self, x, n):
        t = self.register_tensor(dtype=int32, shape=[4], init=1)
        if n > 2:
            for _ in range(n):
                t = t * 2
                if self.sum(t).item() > 100:
                    return t
            return t * 0
        return t + 5


class NoneAtTheEnd(Returns):
    def find(self, x, n, wanted):  # noqa: RET503 (the mistake)
        for i in range(n):
            if x[i].item() == wanted:
                return i


class NoneInTheLoop(Returns):
    def find(self, x, n, wanted):
        for i in range(n):
            if x[i].item() == wanted:
                return None
        return 0


class OtherType(Returns):
    def find(self, x, n, wanted):
        for i in range(n):
            if x[i].item() == wanted:
                return i
        return 0.5


class KernelReturns(tile.Script):
    def __call__(self, n: int32):  # noqa: RET503 (the mistake)
        self.attrs.blocks = 1
        self.attrs.warps = 1
        for i in range(n):
            if i > 3:
                return i
