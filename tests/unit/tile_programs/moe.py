# SPDX-License-Identifier: Apache-2.0
"""Mixture of experts: tokens gathered by expert, multiplied, scaled and scattered by atomics."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves
from xtc import tile
from xtc.tile import float16, float32, int32


class GroupedRows(tile.Script):
    """A block takes rows of one expert: `sorted` has their tokens, padded with -1."""

    def __init__(self, bm=16, bn=32, bk=16):
        super().__init__()
        self.bm, self.bn, self.bk = bm, bn, bk

    def __call__(
        self,
        tokens: int32,
        rows: int32,
        n: int32,
        k: int32,
        experts: int32,
        x_ptr: ~float16,
        w_ptr: ~float16,
        sorted_ptr: ~int32,
        expert_ptr: ~int32,
        weight_ptr: ~float32,
        y_ptr: ~float32,
    ):
        bm, bn, bk = self.bm, self.bn, self.bk
        self.attrs.blocks = (self.utils.cdiv(rows, bm), self.utils.cdiv(n, bn))
        self.attrs.warps = 2
        gx = self.global_view(x_ptr, dtype=float16, shape=[tokens, k])
        gw = self.global_view(w_ptr, dtype=float16, shape=[experts, n, k])
        gs = self.global_view(sorted_ptr, dtype=int32, shape=[rows])
        ge = self.global_view(expert_ptr, dtype=int32, shape=[self.gridDim.x])
        weights = self.global_view(weight_ptr, dtype=float32, shape=[rows])
        gy = self.global_view(y_ptr, dtype=float32, shape=[tokens, n])
        expert = ge[self.blockIdx.x].item()
        if expert < 0:
            return
        row, column = self.blockIdx.x * bm, self.blockIdx.y * bn
        token = self.load_global(gs, offsets=[row], shape=[bm])
        sx = self.shared_tensor(dtype=float16, shape=[bm, bk])
        sw = self.shared_tensor(dtype=float16, shape=[bn, bk])
        stoken = self.shared_tensor(dtype=int32, shape=[bm])
        self.store_shared(stoken, token)
        self.sync()
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        for at in range(0, k, bk):
            for i in self.range(bm, unroll="all"):
                self.copy_async(gx, sx[i], offsets=[stoken[i].item(), at], dims=[1])
            self.copy_async(gw, sw, offsets=[expert, column, at], dims=[1, 2])
            self.copy_async_wait_all()
            self.sync()
            acc = self.dot(self.load_shared(sx), self.load_shared(sw.transpose()), acc)
            self.sync()
        acc = acc * self.unsqueeze(self.load_global(weights, offsets=[row], shape=[bm]), dim=1)
        part = self.shared_tensor(dtype=float32, shape=[bm, bn])
        self.store_shared(part, acc)
        self.sync()
        for i in self.range(bm):
            line = self.load_shared(part[i])
            where = stoken[i].item()
            if where >= 0:
                old = self.register_tensor(dtype=int32, shape=[bn], init=lambda j: j) + column
                self.atomic.global_scatter_add(
                    self.global_view(gy[where, 0].item_ptr(), dtype=float32, shape=[n]),
                    dim=0,
                    indices=old,
                    values=line,
                )


def case(tokens=20, n=40, k=24, experts=3, bm=16):
    rng = np.random.default_rng(0)
    x, w = halves(0, tokens, k), halves(1, experts, n, k)
    chosen = np.stack([rng.permutation(experts)[:2] for _ in range(tokens)])
    gate = rng.random((tokens, 2)).astype(np.float32)
    order, blocks, scale = [], [], []
    for e in range(experts):
        mine = [(t, gate[t, c]) for t in range(tokens) for c in range(2) if chosen[t, c] == e]
        mine += [(-1, 0.0)] * (-len(mine) % bm)
        order += [t for t, _ in mine]
        scale += [g for _, g in mine]
        blocks += [e] * (len(mine) // bm)
    order += [-1] * bm
    scale += [0.0] * bm
    blocks += [-1]
    y = np.zeros((tokens, n), np.float32)
    expected = sum(
        gate[:, [c]] * np.einsum("tk,tnk->tn", x.astype(float), w[chosen[:, c]].astype(float))
        for c in range(2)
    )
    launch = Launch(
        GroupedRows(),
        (
            tokens,
            len(order),
            n,
            k,
            experts,
            x,
            w,
            np.array(order, np.int32),
            np.array(blocks, np.int32),
            np.array(scale, np.float32),
            y,
        ),
    )
    return Case((launch,), y, expected, atol=1e-3, rtol=1e-3)
