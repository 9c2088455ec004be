# SPDX-License-Identifier: Apache-2.0
"""Addition of two vectors of any length."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, show
from xtc import tile
from xtc.tile import float32, int32


class VectorAdd(tile.Script):
    """A block adds 512 elements."""

    def __init__(self, block=512):
        super().__init__()
        self.block = block

    def __call__(self, n: int32, x_ptr: ~float32, y_ptr: ~float32, z_ptr: ~float32):
        self.attrs.blocks = self.utils.cdiv(n, self.block)
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        y = self.global_view(y_ptr, dtype=float32, shape=[n])
        z = self.global_view(z_ptr, dtype=float32, shape=[n])
        at = self.block * self.blockIdx.x
        a = self.load_global(x, offsets=[at], shape=[self.block])
        b = self.load_global(y, offsets=[at], shape=[self.block])
        self.store_global(z, a + b, offsets=[at])


def case(n=3001):
    """A length that is not a multiple of the block size."""
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    z = np.zeros_like(x)
    return Case((Launch(VectorAdd(), (n, x, y, z)),), z, x + y)


if __name__ == "__main__":
    show(case())
