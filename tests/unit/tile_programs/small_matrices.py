# SPDX-License-Identifier: Apache-2.0
"""Small matrices, one per block: Cholesky factors, LU with pivots, and tridiagonal systems."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float32, int32


class Cholesky(tile.Script):
    """In place in shared memory, column by column."""

    def __call__(self, batch: int32, n: int, a_ptr: ~float32, l_ptr: ~float32):
        self.attrs.blocks = batch
        self.attrs.warps = 2
        ga, gl = [self.global_view(p, dtype=float32, shape=[batch, n, n]) for p in (a_ptr, l_ptr)]
        s = self.shared_tensor(dtype=float32, shape=[n, n])
        self.store_shared(
            s, self.load_global(ga, offsets=[self.blockIdx.x, 0, 0], shape=[n, n], dims=[1, 2])
        )
        self.sync()
        i = self.register_tensor(dtype=int32, shape=[n], init=lambda i: i)
        rows = self.register_tensor(dtype=int32, shape=[n, n], init=lambda i, j: i)
        columns = self.register_tensor(dtype=int32, shape=[n, n], init=lambda i, j: j)
        for j in range(n):
            column = self.load_shared(s[:, j])
            pivot = self.sqrt(s[j, j].item())
            column = self.where(i > j, column / pivot, self.where(i == j, pivot, 0.0))
            self.sync()
            self.store_shared(s[:, j], column)
            self.sync()
            rest = self.load_shared(s)
            left = self.unsqueeze(self.load_shared(s[:, j]), dim=1)
            right = self.unsqueeze(self.load_shared(s[:, j]), dim=0)
            rest = self.where((columns > j) & (rows >= columns), rest - left * right, rest)
            self.sync()
            self.store_shared(s, rest)
            self.sync()
        result = self.where(rows >= columns, self.load_shared(s), 0.0)
        self.store_global(gl, result, offsets=[self.blockIdx.x, 0, 0], dims=[1, 2])


class Solve(tile.Script):
    """Gaussian elimination with pivots; the matrix stays in registers."""

    def __call__(self, batch: int32, n: int, a_ptr: ~float32, b_ptr: ~float32, x_ptr: ~float32):
        self.attrs.blocks = batch
        self.attrs.warps = 1
        ga = self.global_view(a_ptr, dtype=float32, shape=[batch, n, n])
        gb, gx = [self.global_view(p, dtype=float32, shape=[batch, n]) for p in (b_ptr, x_ptr)]
        at = self.blockIdx.x
        a = self.load_global(ga, offsets=[at, 0, 0], shape=[n, n], dims=[1, 2])
        b = self.unsqueeze(self.load_global(gb, offsets=[at, 0], shape=[n], dims=[1]), dim=1)
        i = self.register_tensor(dtype=int32, shape=[n, 1], init=lambda i, j: i)
        j = self.register_tensor(dtype=int32, shape=[1, n], init=lambda i, j: j)
        for step in range(n):
            column = self.sum(self.where(j == step, a, 0.0), dim=1, keepdim=True)
            size = self.where(i >= step, self.abs(column), -1.0)
            most = self.max(size, dim=0, keepdim=True)
            pivot = self.min(self.where(size == most, i, n), dim=0, keepdim=True)
            row = self.sum(self.where(i == pivot, a, 0.0), dim=0, keepdim=True)
            other = self.sum(self.where(i == step, a, 0.0), dim=0, keepdim=True)
            right = self.sum(self.where(i == pivot, b, 0.0), dim=0, keepdim=True)
            other_right = self.sum(self.where(i == step, b, 0.0), dim=0, keepdim=True)
            a = self.where(i == pivot, other, a)
            b = self.where(i == pivot, other_right, b)
            divisor = self.sum(self.where(j == step, row, 0.0), dim=1, keepdim=True)
            row, right = row / divisor, right / divisor
            column = self.sum(self.where(j == step, a, 0.0), dim=1, keepdim=True)
            a = self.where(i == step, row, a - column * row)
            b = self.where(i == step, right, b - column * right)
        self.store_global(gx, self.squeeze(b, dim=1), offsets=[at, 0], dims=[1])


class Tridiagonal(tile.Script):
    """Cyclic reduction: each equation eliminates its neighbors at a distance that doubles."""

    def __init__(self, n=32):
        super().__init__()
        self.n = n

    def __call__(self, batch: int32, p_ptr: ~float32, x_ptr: ~float32):
        n = self.n
        self.attrs.blocks = batch
        self.attrs.warps = 2
        parts = self.global_view(p_ptr, dtype=float32, shape=[batch, 4, n])
        gx = self.global_view(x_ptr, dtype=float32, shape=[batch, n])
        self.s = self.shared_tensor(dtype=float32, shape=[n])
        system = [
            self.load_global(parts, offsets=[self.blockIdx.x, k, 0], shape=[n], dims=[2])
            for k in range(4)
        ]
        distance = 1
        while distance < n:
            a, b, c, d = system
            a0, b0, c0, d0 = self.moved(system, distance)
            a1, b1, c1, d1 = self.moved(system, -distance)
            low, high = -a / b0, -c / b1
            system = [low * a0, b + low * c0 + high * a1, high * c1, d + low * d0 + high * d1]
            distance *= 2
        self.store_global(gx, system[3] / system[1], offsets=[self.blockIdx.x, 0], dims=[1])

    def moved(self, system, distance):
        """The equations at a distance; outside of the system they are x = 0."""
        i = self.register_tensor(dtype=int32, shape=[self.n], init=lambda i: i)
        result = []
        for t, outside in zip(system, (0.0, 1.0, 0.0, 0.0), strict=True):
            self.store_shared(
                self.s, self.register_tensor(dtype=float32, shape=[self.n], init=outside)
            )
            self.sync()
            self.store_shared_scatter(self.s, dim=0, indices=i + distance, values=t)
            self.sync()
            result.append(self.load_shared(self.s))
            self.sync()
        return result


def case(batch=3, n=16):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((batch, n, n)).astype(np.float32)
    spd = (a @ a.transpose(0, 2, 1) + np.eye(n) * n).astype(np.float32)
    b = rng.standard_normal((batch, n)).astype(np.float32)
    t = rng.random((batch, 4, 32)).astype(np.float32)
    t[:, 1] += 3
    t[:, 0, 0] = t[:, 2, -1] = 0
    result = np.zeros(batch * (n * n + n + 32), np.float32)
    ends = np.cumsum([batch * n * n, batch * n])
    factors, x, y = np.split(result, ends)
    full = np.stack(
        [np.diag(p[1]) + np.diag(p[0, 1:], -1) + np.diag(p[2, :-1], 1) for p in t.astype(float)]
    )
    expected = np.concatenate(
        [
            np.linalg.cholesky(spd.astype(float)).ravel(),
            np.linalg.solve(a.astype(float), b.astype(float)[..., None]).ravel(),
            np.linalg.solve(full, t[:, 3].astype(float)[..., None]).ravel(),
        ]
    )
    launches = (
        Launch(Cholesky(), (batch, n, spd, factors)),
        Launch(Solve(), (batch, n, a, b, x)),
        Launch(Tridiagonal(), (batch, t, y)),
    )
    return Case(launches, result, expected, atol=1e-3, rtol=1e-3)
