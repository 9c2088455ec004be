# SPDX-License-Identifier: Apache-2.0
"""A fast Fourier transform of each row: butterflies in shared memory, one barrier a step."""

from __future__ import annotations

import math

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float32, int32


class Fourier(tile.Script):
    """Stockham's algorithm, whose output is in order; real and imaginary parts are rows."""

    def __init__(self, n=64, warps=2):
        super().__init__()
        self.n, self.warps = n, warps

    def __call__(self, rows: int32, x_ptr: ~float32, y_ptr: ~float32):
        n = self.n
        self.attrs.blocks = rows
        self.attrs.warps = self.warps
        x, y = [self.global_view(p, dtype=float32, shape=[rows, 2, n]) for p in (x_ptr, y_ptr)]
        s = self.shared_tensor(dtype=float32, shape=[2, 2, n // 2])
        flat = self.shared_tensor(dtype=float32, shape=[2, n])
        t = self.load_global(x, offsets=[self.blockIdx.x, 0, 0], shape=[2, n], dims=[1, 2])
        size = n
        while size > 1:
            self.store_shared(s, self.reshape(t, [2, 2, n // 2]))
            self.sync()
            t = self.step(s, flat, size)
            size //= 2
        self.store_global(y, t, offsets=[self.blockIdx.x, 0, 0], dims=[1, 2])

    def step(self, s, flat, size):
        """Combine elements at a distance of n / 2; `stride` transforms are interleaved."""
        n = self.n
        stride = n // size
        i = self.register_tensor(dtype=int32, shape=[n // 2], init=lambda i: i)
        p, q = i // stride, i % stride
        angle = self.cast(p, float32) * (-2.0 * math.pi / size)
        a, b = (
            [self.load_shared(s[0, h]) for h in range(2)],
            [self.load_shared(s[1, h]) for h in range(2)],
        )
        real, imaginary = a[0] - a[1], b[0] - b[1]
        c, d = self.cos(angle), self.sin(angle)
        at = q + 2 * stride * p
        self.scatter(flat, 0, at, a[0] + a[1])
        self.scatter(flat, 1, at, b[0] + b[1])
        self.scatter(flat, 0, at + stride, real * c - imaginary * d)
        self.scatter(flat, 1, at + stride, real * d + imaginary * c)
        self.sync()
        return self.load_shared(flat)

    def scatter(self, flat, row, at, values):
        self.store_shared_scatter(flat[row], dim=0, indices=at, values=values)


def case(rows=3, n=64):
    x = np.random.default_rng(0).standard_normal((rows, 2, n)).astype(np.float32)
    y = np.zeros_like(x)
    found = np.fft.fft(x[:, 0] + 1j * x[:, 1])
    return Case(
        (Launch(Fourier(n), (rows, x, y)),), y, np.stack([found.real, found.imag], 1), atol=1e-4
    )
