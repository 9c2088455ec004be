# SPDX-License-Identifier: Apache-2.0
"""Gradients of attention: a block adds up those of keys and values, atomics those of queries."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves
from xtc import tile
from xtc.tile import float16, float32, int32


class Preprocess(tile.Script):
    """delta = the sum of o * do along rows."""

    def __call__(self, n: int32, d: int, o_ptr: ~float16, do_ptr: ~float16, delta_ptr: ~float32):
        self.attrs.blocks = self.utils.cdiv(n, 32)
        self.attrs.warps = 2
        at = self.blockIdx.x * 32
        o = self.load_global(
            self.global_view(o_ptr, dtype=float16, shape=[n, d]), offsets=[at, 0], shape=[32, d]
        )
        do = self.load_global(
            self.global_view(do_ptr, dtype=float16, shape=[n, d]), offsets=[at, 0], shape=[32, d]
        )
        delta = self.global_view(delta_ptr, dtype=float32, shape=[n])
        self.store_global(delta, self.sum(o.to(float32) * do.to(float32), dim=1), offsets=[at])


class Backward(tile.Script):
    def __init__(self, rows=16, columns=32):
        super().__init__()
        self.rows, self.columns = rows, columns

    def __call__(
        self,
        n: int32,
        d: int,
        scale: float32,
        q_ptr: ~float16,
        k_ptr: ~float16,
        v_ptr: ~float16,
        do_ptr: ~float16,
        lse_ptr: ~float32,
        delta_ptr: ~float32,
        dq_ptr: ~float32,
        dk_ptr: ~float32,
        dv_ptr: ~float32,
    ):
        rows, columns = self.rows, self.columns
        self.attrs.blocks = self.utils.cdiv(n, columns)
        self.attrs.warps = 2
        gq, gk, gv, gdo = [
            self.global_view(p, dtype=float16, shape=[n, d]) for p in (q_ptr, k_ptr, v_ptr, do_ptr)
        ]
        gdq, gdk, gdv = [
            self.global_view(p, dtype=float32, shape=[n, d]) for p in (dq_ptr, dk_ptr, dv_ptr)
        ]
        glse = self.global_view(lse_ptr, dtype=float32, shape=[n])
        gdelta = self.global_view(delta_ptr, dtype=float32, shape=[n])
        column = self.blockIdx.x * columns
        sk = self.shared_tensor(dtype=float16, shape=[columns, d])
        sq = self.shared_tensor(dtype=float16, shape=[rows, d])
        sdo = self.shared_tensor(dtype=float16, shape=[rows, d])
        sds = self.shared_tensor(dtype=float16, shape=[columns, rows])
        self.store_shared(sk, self.load_global(gk, offsets=[column, 0], shape=[columns, d]))
        v = self.load_global(gv, offsets=[column, 0], shape=[columns, d])
        self.sync()
        k = self.load_shared(sk)
        dk = self.register_tensor(dtype=float32, shape=[columns, d], init=0.0)
        dv = self.register_tensor(dtype=float32, shape=[columns, d], init=0.0)
        for row in self.range(column // rows * rows, n, rows):
            self.copy_async(gq, sq, offsets=[row, 0])
            self.copy_async(gdo, sdo, offsets=[row, 0])
            self.copy_async_wait_all()
            self.sync()
            lse = self.load_global(glse, offsets=[row], shape=[rows])
            delta = self.load_global(gdelta, offsets=[row], shape=[rows])
            s = self.dot(k, self.load_shared(sq.transpose()), acc_dtype=float32) * scale
            i = self.register_tensor(dtype=int32, shape=[1, rows], init=lambda a, b: b) + row
            j = self.register_tensor(dtype=int32, shape=[columns, 1], init=lambda a, b: a) + column
            p = self.where((j <= i) & (i < n), self.exp(s - self.unsqueeze(lse, dim=0)), 0.0)
            self.dot(p.to(float16), self.load_shared(sdo), dv, out=dv)
            dp = self.dot(v, self.load_shared(sdo.transpose()), acc_dtype=float32)
            ds = (p * (dp - self.unsqueeze(delta, dim=0)) * scale).to(float16)
            self.dot(ds, self.load_shared(sq), dk, out=dk)
            self.store_shared(sds, ds)
            self.sync()
            dq = self.dot(
                self.load_shared(sds.transpose()), self.load_shared(sk), acc_dtype=float32
            )
            at = self.register_tensor(dtype=int32, shape=[rows, d], init=lambda a, b: a) + row
            self.atomic.global_scatter_add(gdq, dim=0, indices=at, values=dq)
        self.store_global(gdk, dk, offsets=[column, 0])
        self.store_global(gdv, dv, offsets=[column, 0])


def case(n=50, d=16):
    scale = 0.25
    q, k, v, do = (halves(seed, n, d) * 2 for seed in range(4))
    f = [x.astype(np.float64) for x in (q, k, v, do)]
    s = scale * f[0] @ f[1].T
    s[np.triu_indices(n, 1)] = -np.inf
    lse = np.log(np.exp(s).sum(1))
    p = np.exp(s - lse[:, None])
    o = p @ f[2]
    delta = (o * f[3]).sum(1)
    ds = p * (f[3] @ f[2].T - delta[:, None]) * scale
    grads = np.zeros((3, n, d), np.float32)
    expected = np.stack([ds @ f[1], ds.T @ f[0], p.T @ f[3]])
    deltas = np.zeros(n, np.float32)
    launches = (
        Launch(Preprocess(), (n, d, o.astype(np.float16), do, deltas)),
        Launch(
            Backward(),
            (
                n,
                d,
                scale,
                q,
                k,
                v,
                do,
                lse.astype(np.float32),
                deltas,
                grads[0],
                grads[1],
                grads[2],
            ),
        ),
    )
    return Case(launches, grads, expected, atol=4e-3, rtol=4e-3)
