# SPDX-License-Identifier: Apache-2.0
"""Dropout whose mask follows from a seed, fused with a rotary embedding and a gated activation."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float32, int32, uint64


class Dropout(tile.Script):
    """y = dropout(silu(gate) * rotated(x))."""

    def __init__(self, rows=8, warps=2):
        super().__init__()
        self.rows, self.warps = rows, warps

    def __call__(
        self, n: int32, d: int, seed: uint64, keep: float32, x_ptr: ~float32, y_ptr: ~float32
    ):
        rows, half = self.rows, d // 2
        self.attrs.blocks = self.utils.cdiv(n, rows)
        self.attrs.warps = self.warps
        x = self.global_view(x_ptr, dtype=float32, shape=[2, n, 2, half])
        y = self.global_view(y_ptr, dtype=float32, shape=[n, 2, half])
        row = self.blockIdx.x * rows
        i = self.register_tensor(dtype=int32, shape=[rows, 1], init=lambda i, j: i) + row
        j = self.register_tensor(dtype=int32, shape=[1, half], init=lambda i, j: j)
        angle = self.cast(i, float32) * self.exp(self.cast(j, float32) * (-4.0 / half))
        a, b = [self.part(x, 0, row, part, half) for part in range(2)]
        turned = [
            a * self.cos(angle) - b * self.sin(angle),
            a * self.sin(angle) + b * self.cos(angle),
        ]
        for part in self.range(2, unroll="all"):
            gate = self.part(x, 1, row, part, half)
            value = gate / (1.0 + self.exp(-gate)) * turned[part]
            drawn = self.rand(seed, i * d + j + part * half)
            kept = self.where(drawn < keep, value / keep, 0.0)
            self.store_global(y, kept, offsets=[row, part, 0], dims=[0, 2])

    def part(self, x, which, row, part, half):
        return self.load_global(
            x, offsets=[which, row, part, 0], shape=[self.rows, half], dims=[1, 3]
        )


def philox(seed: int, offsets: np.ndarray) -> np.ndarray:
    """The first random number of each counter (Salmon et al., SC 2011)."""
    counter = [offsets.astype(np.uint64), *[np.zeros(offsets.shape, np.uint64)] * 3]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = (counter[at] * np.uint64(m) for at, m in ((0, 0xD2511F53), (2, 0xCD9E8D57)))
        counter = [
            b >> np.uint64(32) ^ counter[1] ^ np.uint64(key[0]),
            b & low,
            a >> np.uint64(32) ^ counter[3] ^ np.uint64(key[1]),
            a & low,
        ]
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return counter[0].astype(np.uint32).view(np.int32)


def case(n=21, d=32, seed=5 << 33 | 7, keep=0.7):
    x = np.random.default_rng(0).standard_normal((2, n, 2, d // 2)).astype(np.float32)
    y = np.zeros((n, 2, d // 2), np.float32)
    at, column = np.arange(n)[:, None], np.arange(d // 2)[None, :]
    angle = at * np.exp(-4.0 * column / (d // 2))
    a, b = x[0, :, 0], x[0, :, 1]
    turned = np.stack(
        [a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], 1
    )
    bits = philox(seed, np.arange(n * d)).reshape(y.shape)
    drawn = np.where(bits < 0, ~bits, bits) / 2.0**31
    expected = np.where(drawn < keep, x[1] / (1 + np.exp(-x[1])) * turned / keep, 0)
    launch = Launch(Dropout(), (n, d, seed, keep, x, y))
    return Case((launch,), y, expected, atol=1e-5, rtol=1e-4)
