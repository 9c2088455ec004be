# SPDX-License-Identifier: Apache-2.0
"""A kernel whose threads exchange elements by barriers that the compiler writes."""

from __future__ import annotations

from xtc import tile
from xtc.tile import int32
from xtc.tile.layout import local, spatial


class Exchanges(tile.Script):
    """y = what x becomes by the instructions of a kind, twice, of which the second reuses memory."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def __call__(self, x_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=int32, shape=[32, 64])
        y = self.global_view(y_ptr, dtype=int32, shape=[32, 64])
        t = self.load_global(x, offsets=[0, 0], shape=[32, 64])
        for _ in range(2):
            t = self.once(t)
        self.store_global(y, t, offsets=[0, 0])

    def once(self, t):
        """Exchange elements once."""
        if self.kind == "transpose":
            return self.transpose(self.reshape(t, [64, 32])) + t
        if self.kind == "sum":
            return t + self.sum(t, dim=0, keepdim=True)
        if self.kind == "scan":
            return self.cumsum(t, dim=0) + self.cumsum(t, dim=1)
        s = self.shared_tensor(dtype=int32, shape=[32, 64])
        self.store_shared(s, t)
        self.sync()
        before = self.atomic.shared_add(s, t)
        self.sync()
        return before + self.load_shared(s)


LAYOUT = spatial(16, 8) * local(2, 8)
