# SPDX-License-Identifier: Apache-2.0
"""Weights of 4 bits by a table (nf4) and by scales and zero points per group, in int32 words."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves
from xtc import tile
from xtc.tile import float16, float32, int32, uint8, uint32

TABLE = [
    -1.0,
    -0.6962,
    -0.5251,
    -0.3949,
    -0.2844,
    -0.1848,
    -0.0911,
    0.0,
    0.0796,
    0.1609,
    0.2461,
    0.3379,
    0.4407,
    0.5626,
    0.7230,
    1.0,
]


class TableWeights(tile.Script):
    """y = x w, where codes of two neighbors in N share a byte."""

    def __init__(self, bm=16, bn=32, bk=16):
        super().__init__()
        self.bm, self.bn, self.bk = bm, bn, bk

    def __call__(
        self,
        m: int32,
        n: int32,
        k: int32,
        x_ptr: ~float16,
        w_ptr: ~uint8,
        t_ptr: ~float16,
        y_ptr: ~float32,
    ):
        bm, bn, bk = self.bm, self.bn, self.bk
        self.attrs.blocks = self.utils.cdiv(m, bm), self.utils.cdiv(n, bn)
        self.attrs.warps = 2
        row, column = self.blockIdx.x * bm, self.blockIdx.y * bn
        gx = self.global_view(x_ptr, dtype=float16, shape=[m, k])
        gw = self.global_view(w_ptr, dtype=uint8, shape=[k, n // 2])
        gy = self.global_view(y_ptr, dtype=float32, shape=[m, n])
        table = self.load_global(
            self.global_view(t_ptr, dtype=float16, shape=[16]), offsets=[0], shape=[16]
        )
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        for at in range(0, k, bk):
            x = self.load_global(gx, offsets=[row, at], shape=[bm, bk])
            codes = self.load_global(gw, offsets=[at, column // 2], shape=[bk, bn // 2])
            codes = self.repeat_interleave(codes, [1, 2])
            odd = self.register_tensor(dtype=uint8, shape=[1, bn], init=lambda i, j: j % 2)
            codes = (codes >> (odd * 4)) & 15
            w = self.register_tensor(dtype=float16, shape=[bk, bn], init=0.0)
            for code in self.range(16, unroll="all"):
                w = self.where(codes == code, table[code], w)
            self.dot(x, w, acc, out=acc)
        self.store_global(gy, acc, offsets=[row, column])


class GroupedWeights(tile.Script):
    """y = x w, where a word holds eight codes along K, in the order of GPTQ."""

    def __init__(self, group=32, bm=16, bn=16, bk=32):
        super().__init__()
        self.group, self.bm, self.bn, self.bk = group, bm, bn, bk

    def __call__(
        self,
        m: int32,
        n: int32,
        k: int32,
        x_ptr: ~float16,
        w_ptr: ~uint32,
        scale_ptr: ~float16,
        zero_ptr: ~uint32,
        y_ptr: ~float32,
    ):
        bm, bn, bk = self.bm, self.bn, self.bk
        self.attrs.blocks = self.utils.cdiv(m, bm), self.utils.cdiv(n, bn)
        self.attrs.warps = 1
        row, column = self.blockIdx.x * bm, self.blockIdx.y * bn
        groups = k // self.group
        gx = self.global_view(x_ptr, dtype=float16, shape=[m, k])
        gw = self.global_view(w_ptr, dtype=uint32, shape=[k // 8, n])
        gs = self.global_view(scale_ptr, dtype=float16, shape=[groups, n])
        gz = self.global_view(zero_ptr, dtype=uint32, shape=[groups, n // 8])
        gy = self.global_view(y_ptr, dtype=float32, shape=[m, n])
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        nibble = self.register_tensor(dtype=uint32, shape=[1, 8, 1], init=lambda i, j, k: j * 4)
        across = self.register_tensor(dtype=uint32, shape=[bn // 8, 8], init=lambda i, j: j * 4)
        for at in range(0, k, bk):
            x = self.load_global(gx, offsets=[row, at], shape=[bm, bk])
            words = self.load_global(gw, offsets=[at // 8, column], shape=[bk // 8, bn])
            codes = self.reshape((self.unsqueeze(words, dim=1) >> nibble) & 15, [bk, bn])
            zeros = self.load_global(
                gz, offsets=[at // self.group, column // 8], shape=[bn // 8], dims=[1]
            )
            zeros = self.reshape((self.unsqueeze(zeros, dim=1) >> across) & 15, [1, bn])
            scales = self.load_global(gs, offsets=[at // self.group, column], shape=[1, bn])
            w = (codes.to(int32) - zeros.to(int32) - 1).to(float16) * scales
            acc = self.dot(x, w, acc)
        self.store_global(gy, acc, offsets=[row, column])


def case(m=20, n=40, k=96):
    rng = np.random.default_rng(0)
    x = halves(0, m, k)
    table = np.array(TABLE, np.float16)
    codes = rng.integers(0, 16, (k, n)).astype(np.uint32)
    bytes_ = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
    words = sum(codes[i::8] << np.uint32(4 * i) for i in range(8))
    zeros = rng.integers(0, 15, (k // 32, n)).astype(np.uint32)
    packed = sum(zeros[:, i::8] << np.uint32(4 * i) for i in range(8))
    scales = (rng.random((k // 32, n)) / 8).astype(np.float16)
    y = np.zeros((2, m, n), np.float32)
    w = (codes.astype(float) - np.repeat(zeros, 32, 0) - 1) * np.repeat(scales, 32, 0)
    expected = np.stack(
        [
            x.astype(float) @ table.astype(float)[codes],
            x.astype(float) @ w.astype(np.float16).astype(float),
        ]
    )
    launches = (
        Launch(TableWeights(), (m, n, k, x, bytes_, table, y[0])),
        Launch(GroupedWeights(), (m, n, k, x, words, scales, packed, y[1])),
    )
    return Case(launches, y, expected, atol=2e-3, rtol=2e-3)
