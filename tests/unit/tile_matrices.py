# SPDX-License-Identifier: Apache-2.0
"""A tile kernel whose result is stored through shared memory, plain or transposed."""

from __future__ import annotations

from typing import Any

from xtc import tile
from xtc.tile import float16, float32, void_p


class Staged(tile.Script):
    """c = a b, of one tile of 16-bit numbers."""

    def __init__(
        self, sizes: tuple[int, int, int] = (64, 64, 32), dtype: Any = float16, across: bool = False
    ):
        super().__init__()
        self.m, self.n, self.k = sizes
        self.dtype, self.across = dtype, across

    def __call__(self, a_ptr: void_p, b_ptr: void_p, c_ptr: void_p):
        m, n, k, dtype = self.m, self.n, self.k, self.dtype
        self.attrs.blocks = 1
        self.attrs.warps = 4
        ga = self.global_view(a_ptr, dtype=dtype, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=dtype, shape=[k, n])
        gc = self.global_view(c_ptr, dtype=dtype, shape=[m, n])
        acc = self.register_tensor(dtype=float32, shape=[m, n], init=0.0)
        a = self.load_global(ga, offsets=[0, 0], shape=[m, k])
        b = self.load_global(gb, offsets=[0, 0], shape=[k, n])
        self.dot(a, b, acc, out=acc)
        made = self.cast(acc, dtype)
        if self.across:
            turned = self.shared_tensor(dtype=dtype, shape=[n, m])
            self.store_shared(turned.transpose(), made)
            self.sync()
            rows = self.load_shared(turned)
            self.store_global(gc, self.transpose(rows), offsets=[0, 0])
        else:
            plain = self.shared_tensor(dtype=dtype, shape=[m, n])
            self.store_shared(plain, made)
            self.sync()
            self.store_global(gc, self.load_shared(plain), offsets=[0, 0])
