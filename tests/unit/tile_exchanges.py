# SPDX-License-Identifier: Apache-2.0
"""A kernel whose threads exchange elements by compiler-generated barriers."""

from __future__ import annotations

from xtc import tile
from xtc.tile import int32


class Exchanges(tile.Script):
    """Apply a kind of instruction to x twice: the second time, memory is reused."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def __call__(self, x_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=int32, shape=[16, 64])
        y = self.global_view(y_ptr, dtype=int32, shape=[16, 64])
        t = self.load_global(x, offsets=[0, 0], shape=[16, 64])
        for _ in range(2):
            t = self.exchanged(t)
        self.store_global(y, t, offsets=[0, 0])

    def exchanged(self, t):
        """One application."""
        if self.kind == "convert":
            return self.transpose(self.reshape(t, [64, 16])) + t
        if self.kind == "reduce":
            return t + self.sum(t, dim=0, keepdim=True)
        if self.kind == "scan":
            return self.cumsum(t, dim=0)
        s = self.shared_tensor(dtype=int32, shape=[16, 64])
        self.store_shared(s, t)
        self.sync()
        before = self.atomic.shared_add(s, t)
        self.sync()
        after = self.load_shared(s)
        self.sync()
        return self.transpose(self.reshape(before + after, [64, 16]))


def expected(kind, t):
    """The expected result in NumPy."""
    for _ in range(2):
        if kind == "convert":
            t = t.reshape(64, 16).T + t
        elif kind == "reduce":
            t = t + t.sum(0, keepdims=True, dtype=t.dtype)
        elif kind == "scan":
            t = t.cumsum(0, dtype=t.dtype)
        else:
            t = (3 * t).reshape(64, 16).T
    return t
