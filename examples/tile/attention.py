# SPDX-License-Identifier: Apache-2.0
"""Attention that keeps no score matrix in memory, for one head."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves, show
from xtc import tile
from xtc.tile import float16, float32, int32


class Attention(tile.Script):
    """A block processes rows of queries; probabilities never leave the registers of their warp."""

    def __init__(self, rows: int = 64, columns: int = 32, warps: int = 4) -> None:
        super().__init__()
        self.rows, self.columns, self.warps = rows, columns, warps

    def __call__(
        self,
        n: int32,
        d: int,
        scale: float32,
        q_ptr: ~float16,
        k_ptr: ~float16,
        v_ptr: ~float16,
        o_ptr: ~float16,
    ):
        rows, columns = self.rows, self.columns
        self.attrs.blocks = self.utils.cdiv(n, rows)
        self.attrs.warps = self.warps
        gq, gk, gv, go = [
            self.global_view(p, dtype=float16, shape=[n, d]) for p in (q_ptr, k_ptr, v_ptr, o_ptr)
        ]
        row = self.blockIdx.x * rows
        sq = self.shared_tensor(dtype=float16, shape=[rows, d])
        sk = self.shared_tensor(dtype=float16, shape=[columns, d])
        sv = self.shared_tensor(dtype=float16, shape=[columns, d])
        self.copy_async(gq, sq, offsets=[row, 0])
        self.copy_async_wait_all()
        self.sync()
        q = self.load_shared(sq)
        acc = self.register_tensor(dtype=float32, shape=[rows, d], init=0.0)
        most = self.register_tensor(dtype=float32, shape=[rows, 1], init=-1e30)
        total = self.register_tensor(dtype=float32, shape=[rows, 1], init=0.0)
        for at in range(0, n, columns):
            self.copy_async(gk, sk, offsets=[at, 0])
            self.copy_async(gv, sv, offsets=[at, 0])
            self.copy_async_wait_all()
            self.sync()
            k = self.load_shared(sk.transpose())
            s = self.dot(q, k, acc_dtype=float32) * scale
            column = self.register_tensor(dtype=int32, shape=[1, columns], init=lambda i, j: j) + at
            s = self.where(column < n, s, -1e30)
            new = self.maximum(most, self.max(s, dim=1, keepdim=True))
            p = self.exp(s - new)
            keep = self.exp(most - new)
            total = total * keep + self.sum(p, dim=1, keepdim=True)
            acc = acc * keep
            self.dot(self.cast(p, float16), self.load_shared(sv), acc, out=acc)
            most = new
            self.sync()
        self.free_shared(sq)
        self.free_shared(sk)
        self.free_shared(sv)
        self.store_global(go, self.cast(acc / total, float16), offsets=[row, 0])


def case(n=100, d=64):
    """A length that is not a multiple of the block size."""
    q, k, v = (halves(seed, n, d) * 4 for seed in range(3))
    o = np.zeros_like(q)
    scores = 0.125 * (q.astype(np.float32) @ k.astype(np.float32).T)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v.astype(np.float32)
    launch = Launch(Attention(), (n, d, 0.125, q, k, v, o))
    return Case((launch,), o, expected, atol=2e-3, rtol=2e-3)


if __name__ == "__main__":
    show(case())
