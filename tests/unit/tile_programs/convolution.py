# SPDX-License-Identifier: Apache-2.0
"""Convolution as a matmul whose operand is gathered from the image: rows of a tile are pixels."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves
from xtc import tile
from xtc.tile import float16, float32, int32


class ImplicitGemm(tile.Script):
    def __init__(self, kernel=3, bp=16, bc=16, bk=16, stride=1, pad=1):
        super().__init__()
        self.kernel, self.bp, self.bc, self.bk, self.stride, self.pad = (
            kernel,
            bp,
            bc,
            bk,
            stride,
            pad,
        )

    def __call__(
        self,
        batch: int32,
        h: int32,
        w: int32,
        c: int,
        f: int32,
        x_ptr: ~float16,
        w_ptr: ~float16,
        y_ptr: ~float32,
    ):
        bp, bc, bk = self.bp, self.bc, self.bk
        ho = (h + 2 * self.pad - self.kernel) // self.stride + 1
        wo = (w + 2 * self.pad - self.kernel) // self.stride + 1
        self.attrs.blocks = [self.utils.cdiv(wo, bp), ho, batch * self.utils.cdiv(f, bc)]
        self.attrs.warps = 2
        filters = self.utils.cdiv(f, bc)
        image, column = self.blockIdx.z // filters, self.blockIdx.z % filters * bc
        row, at = self.blockIdx.y, self.blockIdx.x * bp
        gx = self.global_view(x_ptr, dtype=float16, shape=[batch, h, w, c])
        gw = self.global_view(w_ptr, dtype=float16, shape=[f, self.kernel, self.kernel, c])
        gy = self.global_view(y_ptr, dtype=float32, shape=[batch, ho, wo, f])
        sx = self.shared_tensor(dtype=float16, shape=[bp, bk])
        sw = self.shared_tensor(dtype=float16, shape=[bc, bk])
        acc = self.register_tensor(dtype=float32, shape=[bp, bc], init=0.0)
        for r in range(self.kernel):
            for s in range(self.kernel):
                for ch in range(0, c, bk):
                    self.copy_async(
                        gx,
                        sx,
                        offsets=[
                            image,
                            row * self.stride + r - self.pad,
                            at * self.stride + s - self.pad,
                            ch,
                        ],
                        dims=[2, 3],
                    )
                    self.copy_async(gw, sw, offsets=[column, r, s, ch], dims=[0, 3])
                    self.copy_async_wait_all()
                    self.sync()
                    acc = self.dot(self.load_shared(sx), self.load_shared(sw.transpose()), acc)
                    self.sync()
        self.store_global(gy, acc, offsets=[image, row, at, column], dims=[2, 3])


def case(batch=2, h=5, w=19, c=24, f=20):
    x, k = halves(0, batch, h, w, c), halves(1, f, 3, 3, c)
    y = np.zeros((batch, h, w, f), np.float32)
    padded = np.pad(x.astype(float), ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = sum(
        padded[:, r : r + h, s : s + w] @ k[:, r, s].astype(float).T
        for r in range(3)
        for s in range(3)
    )
    return Case(
        (Launch(ImplicitGemm(), (batch, h, w, c, f, x, k, y)),), y, expected, atol=1e-3, rtol=1e-3
    )
