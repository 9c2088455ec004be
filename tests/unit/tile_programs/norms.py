# SPDX-License-Identifier: Apache-2.0
"""Layer norm forward and backward; gradients of weights are added up under a lock per group."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float32, int32


class Forward(tile.Script):
    def __init__(self, block=64):
        super().__init__()
        self.block = block

    def __call__(
        self,
        m: int32,
        n: int32,
        eps: float32,
        x_ptr: ~float32,
        w_ptr: ~float32,
        b_ptr: ~float32,
        y_ptr: ~float32,
        mean_ptr: ~float32,
        rstd_ptr: ~float32,
    ):
        block = self.block
        self.attrs.blocks = m
        self.attrs.warps = 2
        row = self.blockIdx.x
        x, y = [self.global_view(p, dtype=float32, shape=[m, n]) for p in (x_ptr, y_ptr)]
        w, b = [self.global_view(p, dtype=float32, shape=[n]) for p in (w_ptr, b_ptr)]
        means, rstds = [self.global_view(p, dtype=float32, shape=[m]) for p in (mean_ptr, rstd_ptr)]
        total = self.register_tensor(dtype=float32, shape=[block], init=0.0)
        for at in range(0, n, block):
            total += self.load_global(x, offsets=[row, at], shape=[block], dims=[1])
        mean = self.sum(total, dim=0, keepdim=True) / n
        total = self.register_tensor(dtype=float32, shape=[block], init=0.0)
        i = self.register_tensor(dtype=int32, shape=[block], init=lambda i: i)
        for at in range(0, n, block):
            t = self.load_global(x, offsets=[row, at], shape=[block], dims=[1]) - mean
            total += self.where(i + at < n, t * t, 0.0)
        rstd = self.rsqrt(self.sum(total, dim=0, keepdim=True) / n + eps)
        self.store_global(means, mean, offsets=[row])
        self.store_global(rstds, rstd, offsets=[row])
        for at in range(0, n, block):
            t = self.load_global(x, offsets=[row, at], shape=[block], dims=[1])
            t = (t - mean) * rstd * self.load_global(w, offsets=[at], shape=[block])
            t = t + self.load_global(b, offsets=[at], shape=[block])
            self.store_global(y, t, offsets=[row, at], dims=[1])


class Backward(tile.Script):
    def __init__(self, groups=2, block=128):
        super().__init__()
        self.groups, self.block = groups, block

    def __call__(
        self,
        m: int32,
        n: int32,
        dy_ptr: ~float32,
        x_ptr: ~float32,
        w_ptr: ~float32,
        mean_ptr: ~float32,
        rstd_ptr: ~float32,
        dx_ptr: ~float32,
        dw_ptr: ~float32,
        db_ptr: ~float32,
    ):
        block = self.block
        self.attrs.blocks = m
        self.attrs.warps = 2
        row = self.blockIdx.x
        dy, x, dx = [
            self.global_view(p, dtype=float32, shape=[m, n]) for p in (dy_ptr, x_ptr, dx_ptr)
        ]
        dw, db = [
            self.global_view(p, dtype=float32, shape=[self.groups, n]) for p in (dw_ptr, db_ptr)
        ]
        w = self.global_view(w_ptr, dtype=float32, shape=[n])
        means, rstds = [self.global_view(p, dtype=float32, shape=[m]) for p in (mean_ptr, rstd_ptr)]
        locks = self.global_tensor(dtype=int32, shape=[self.groups], requires_clean=True)
        inside = self.register_tensor(dtype=int32, shape=[block], init=lambda i: i) < n
        tx = self.load_global(x, offsets=[row, 0], shape=[block], dims=[1])
        tdy = self.load_global(dy, offsets=[row, 0], shape=[block], dims=[1])
        tw = self.load_global(w, offsets=[0], shape=[block])
        rstd = rstds[row].item()
        xhat = self.where(inside, (tx - means[row].item()) * rstd, 0.0)
        wdy = tw * tdy
        c1 = self.sum(xhat * wdy, dim=0, keepdim=True) / n
        c2 = self.sum(wdy, dim=0, keepdim=True) / n
        self.store_global(dx, (wdy - (xhat * c1 + c2)) * rstd, offsets=[row, 0], dims=[1])
        group = row % self.groups
        lock = self.global_view(~locks[group], dtype=int32, shape=[1])
        free = self.register_tensor(dtype=int32, shape=[1], init=0)
        taken = self.register_tensor(dtype=int32, shape=[1], init=1)
        while self.atomic.global_cas(lock, free, taken, sem="acquire").item() == 1:
            pass
        self.sync()
        partial = self.load_global(dw, offsets=[group, 0], shape=[block], dims=[1])
        self.store_global(dw, partial + tdy * xhat, offsets=[group, 0], dims=[1])
        partial = self.load_global(db, offsets=[group, 0], shape=[block], dims=[1])
        self.store_global(db, partial + tdy, offsets=[group, 0], dims=[1])
        self.sync()
        self.atomic.global_exch(lock, free, sem="release")


def case(m=7, n=100):
    rng = np.random.default_rng(0)
    x, dy = rng.standard_normal((2, m, n)).astype(np.float32)
    w, b = rng.standard_normal((2, n)).astype(np.float32)
    y, dx = np.zeros((2, m, n), np.float32)
    mean, rstd = np.zeros((2, m), np.float32)
    sums = np.zeros((2, 2, n), np.float32)
    e = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    dw = dy * e
    expected = np.stack([np.stack([part[g::2].sum(0) for g in range(2)]) for part in (dw, dy)])
    launches = (
        Launch(Forward(), (m, n, 1e-5, x, w, b, y, mean, rstd)),
        Launch(Backward(), (m, n, dy, x, w, mean, rstd, dx, sums[0], sums[1])),
    )
    return Case(launches, sums, expected, atol=1e-4, rtol=1e-4)
