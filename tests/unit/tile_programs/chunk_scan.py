# SPDX-License-Identifier: Apache-2.0
"""Mamba-2 by chunks: within a chunk as masked attention, between chunks by a decaying state."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves
from xtc import tile
from xtc.tile import float16, float32, int32


class ChunkScan(tile.Script):
    def __init__(self, chunk=16, warps=2):
        super().__init__()
        self.chunk, self.warps = chunk, warps

    def __call__(
        self,
        n: int32,
        heads: int32,
        d: int,
        state: int,
        x_ptr: ~float16,
        a_ptr: ~float32,
        b_ptr: ~float16,
        c_ptr: ~float16,
        y_ptr: ~float16,
    ):
        chunk = self.chunk
        self.attrs.blocks = heads
        self.attrs.warps = self.warps
        head = self.blockIdx.x
        x = self.global_view(x_ptr, dtype=float16, shape=[n, heads, d])
        a = self.global_view(a_ptr, dtype=float32, shape=[n, heads])
        b = self.global_view(b_ptr, dtype=float16, shape=[n, state])
        c = self.global_view(c_ptr, dtype=float16, shape=[n, state])
        y = self.global_view(y_ptr, dtype=float16, shape=[n, heads, d])
        sx = self.shared_tensor(dtype=float16, shape=[chunk, d])
        sb = self.shared_tensor(dtype=float16, shape=[chunk, state])
        sh = self.shared_tensor(dtype=float16, shape=[state, d])
        h = self.register_tensor(dtype=float32, shape=[state, d], init=0.0)
        i = self.register_tensor(dtype=int32, shape=[chunk, 1], init=lambda i, j: i)
        j = self.register_tensor(dtype=int32, shape=[1, chunk], init=lambda i, j: j)
        for at in range(0, n, chunk):
            self.store_shared(
                sx, self.load_global(x, offsets=[at, head, 0], shape=[chunk, d], dims=[0, 2])
            )
            self.store_shared(sb, self.load_global(b, offsets=[at, 0], shape=[chunk, state]))
            self.store_shared(sh, self.cast(h, float16))
            self.sync()
            tc = self.load_global(c, offsets=[at, 0], shape=[chunk, state])
            decay = self.cumsum(
                self.load_global(a, offsets=[at, head], shape=[chunk], dims=[0]), dim=0
            )
            rows, columns = self.unsqueeze(decay, dim=1), self.unsqueeze(decay, dim=0)
            scores = self.dot(tc, self.load_shared(sb.transpose()), acc_dtype=float32)
            scores = self.where(j <= i, scores * self.exp(rows - columns), 0.0)
            result = self.dot(self.cast(scores, float16), self.load_shared(sx), acc_dtype=float32)
            result += self.dot(tc, self.load_shared(sh), acc_dtype=float32) * self.exp(rows)
            self.store_global(y, self.cast(result, float16), offsets=[at, head, 0], dims=[0, 2])
            last = self.sum(self.load_global(a, offsets=[at, head], shape=[chunk], dims=[0]))
            scaled = self.load_shared(sx).to(float32) * self.exp(last - rows)
            h = h * self.exp(last)
            h = self.dot(self.load_shared(sb.transpose()), self.cast(scaled, float16), h)
            self.sync()


def case(n=40, heads=2, d=16, state=16):
    x, b, c = halves(0, n, heads, d), halves(1, n, state), halves(2, n, state)
    a = -np.random.default_rng(3).random((n, heads)).astype(np.float32) / 4
    y, expected = np.zeros((n, heads, d), np.float16), np.zeros((n, heads, d))
    h = np.zeros((heads, state, d))
    for t in range(n):
        h = (
            h * np.exp(a[t])[:, None, None]
            + b[t].astype(float)[None, :, None] * x[t].astype(float)[:, None, :]
        )
        expected[t] = np.einsum("s,hsd->hd", c[t].astype(float), h)
    return Case(
        (Launch(ChunkScan(), (n, heads, d, state, x, a, b, c, y)),),
        y,
        expected,
        atol=4e-3,
        rtol=4e-3,
    )
