# SPDX-License-Identifier: Apache-2.0
"""Gated delta rule, chunk by chunk: a unit triangular matrix is inverted by doubling its powers."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves
from xtc import tile
from xtc.tile import float16, float32, int32


class GatedDeltaRule(tile.Script):
    def __init__(self, chunk=16, warps=2):
        super().__init__()
        self.chunk, self.warps = chunk, warps

    def __call__(
        self,
        n: int32,
        d: int,
        q_ptr: ~float16,
        k_ptr: ~float16,
        v_ptr: ~float16,
        g_ptr: ~float32,
        beta_ptr: ~float32,
        o_ptr: ~float32,
    ):
        c = self.chunk
        self.attrs.blocks = 1
        self.attrs.warps = self.warps
        gq, gk, gv = [
            self.global_view(p, dtype=float16, shape=[n, d]) for p in (q_ptr, k_ptr, v_ptr)
        ]
        gg, gbeta = [self.global_view(p, dtype=float32, shape=[n]) for p in (g_ptr, beta_ptr)]
        go = self.global_view(o_ptr, dtype=float32, shape=[n, d])
        state = self.register_tensor(dtype=float32, shape=[d, d], init=0.0)
        i = self.register_tensor(dtype=int32, shape=[c, 1], init=lambda i, j: i)
        j = self.register_tensor(dtype=int32, shape=[1, c], init=lambda i, j: j)
        sk = self.shared_tensor(dtype=float32, shape=[c, d])
        for at in range(0, n, c):
            q, k, v = [
                self.load_global(t, offsets=[at, 0], shape=[c, d]).to(float32) for t in (gq, gk, gv)
            ]
            beta = self.unsqueeze(self.load_global(gbeta, offsets=[at], shape=[c]), dim=1)
            g = self.cumsum(self.load_global(gg, offsets=[at], shape=[c]), dim=0)
            gi, gj = self.unsqueeze(g, dim=1), self.unsqueeze(g, dim=0)
            self.store_shared(sk, k)
            self.sync()
            kt = self.load_shared(sk.transpose())
            decay = self.where(j <= i, self.exp(gi - gj), 0.0)
            m = self.where(j < i, -(self.mm(k, kt) * decay * beta), 0.0)
            inverse = self.where(i == j, 1.0, 0.0) + m
            power = m
            for _ in self.range(3, unroll="all"):
                power = self.mm(power, power)
                inverse += self.mm(inverse, power)
            u = self.mm(inverse, beta * v)
            w = self.mm(inverse, beta * k * self.exp(gi))
            new = u - self.mm(w, state)
            o = self.mm(q * self.exp(gi), state) + self.mm(self.mm(q, kt) * decay, new)
            self.store_global(go, o, offsets=[at, 0])
            last = self.sum(self.load_global(gg, offsets=[at], shape=[c]))
            scaled = new * self.exp(last - gi)
            state = state * self.exp(last) + self.mm(kt, scaled)
            self.sync()

    def mm(self, a, b):
        return self.dot(a, b, acc_dtype=float32)


def case(n=40, d=16):
    q, k, v = halves(0, n, d), halves(1, n, d), halves(2, n, d)
    rng = np.random.default_rng(3)
    g, beta = -rng.random(n).astype(np.float32) / 4, rng.random(n).astype(np.float32)
    o, expected = np.zeros((n, d), np.float32), np.zeros((n, d))
    state = np.zeros((d, d))
    for t in range(n):
        state *= np.exp(g[t])
        kt = k[t].astype(float)
        state += np.outer(kt, beta[t] * (v[t] - kt @ state))
        expected[t] = q[t].astype(float) @ state
    return Case(
        (Launch(GatedDeltaRule(), (n, d, q, k, v, g, beta, o)),), o, expected, atol=1e-3, rtol=1e-3
    )
