# SPDX-License-Identifier: Apache-2.0
"""Grouped-query attention, causal within a sliding window, with an attention sink per head."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves
from xtc import tile
from xtc.tile import float16, float32, int32


class WindowAttention(tile.Script):
    """Two slots for keys and values; copies run one tile ahead."""

    def __init__(self, rows=32, columns=16, warps=2):
        super().__init__()
        self.rows, self.columns, self.warps = rows, columns, warps

    def __call__(
        self,
        heads: int,
        kv_heads: int,
        n: int32,
        d: int,
        window: int32,
        q_ptr: ~float16,
        k_ptr: ~float16,
        v_ptr: ~float16,
        sink_ptr: ~float32,
        o_ptr: ~float16,
    ):
        rows, columns = self.rows, self.columns
        self.attrs.blocks = [self.utils.cdiv(n, rows), heads]
        self.attrs.warps = self.warps
        head = self.blockIdx.y
        kv_head = head // (heads // kv_heads)
        gq = self.global_view(q_ptr, dtype=float16, shape=[n, heads, d])
        gk = self.global_view(k_ptr, dtype=float16, shape=[n, kv_heads, d])
        gv = self.global_view(v_ptr, dtype=float16, shape=[n, kv_heads, d])
        go = self.global_view(o_ptr, dtype=float16, shape=[n, heads, d])
        sinks = self.global_view(sink_ptr, dtype=float32, shape=[heads])
        row = self.blockIdx.x * rows
        q = self.load_global(gq, offsets=[row, head, 0], shape=[rows, d], dims=[0, 2])
        sk = self.shared_tensor(dtype=float16, shape=[2, columns, d])
        sv = self.shared_tensor(dtype=float16, shape=[2, columns, d])
        acc = self.register_tensor(dtype=float32, shape=[rows, d], init=0.0)
        most = self.register_tensor(dtype=float32, shape=[rows, 1], init=sinks[head].item())
        total = self.register_tensor(dtype=float32, shape=[rows, 1], init=1.0)
        begin = max(0, row - window + 1) // columns * columns
        end = min(n, row + rows)
        self.copy_async(gk, sk[0], offsets=[begin, kv_head, 0], dims=[0, 2])
        self.copy_async(gv, sv[0], offsets=[begin, kv_head, 0], dims=[0, 2])
        self.copy_async_commit_group()
        slot: int32 = 0
        for at in self.range(begin, end, columns):
            self.copy_async(gk, sk[1 - slot], offsets=[at + columns, kv_head, 0], dims=[0, 2])
            self.copy_async(gv, sv[1 - slot], offsets=[at + columns, kv_head, 0], dims=[0, 2])
            self.copy_async_commit_group()
            self.copy_async_wait_group(1)
            self.sync()
            s = self.dot(q, self.load_shared(sk[slot].transpose()), acc_dtype=float32)
            i = self.register_tensor(dtype=int32, shape=[rows, 1], init=lambda i, j: i) + row
            j = self.register_tensor(dtype=int32, shape=[1, columns], init=lambda i, j: j) + at
            s = self.where((j <= i) & (j > i - window) & (j < n), s * 0.25, -1e30)
            new = self.maximum(most, self.max(s, dim=1, keepdim=True))
            p = self.exp(s - new)
            scale = self.exp(most - new)
            total = total * scale + self.sum(p, dim=1, keepdim=True)
            acc = acc * scale
            acc = self.dot(p.to(float16), self.load_shared(sv[slot]), acc)
            most = new
            self.sync()
            slot = 1 - slot
        self.store_global(go, (acc / total).to(float16), offsets=[row, head, 0], dims=[0, 2])


def case(heads=4, kv_heads=2, n=75, d=16, window=20):
    """A window that begins within tiles, and a length that tiles do not divide."""
    q, o = halves(0, n, heads, d) * 4, np.zeros((n, heads, d), np.float16)
    k, v = halves(1, n, kv_heads, d) * 4, halves(2, n, kv_heads, d) * 4
    sinks = np.random.default_rng(3).standard_normal(heads).astype(np.float32)
    expected = np.zeros((n, heads, d))
    for h in range(heads):
        group = h // (heads // kv_heads)
        s = 0.25 * q[:, h].astype(np.float64) @ k[:, group].astype(np.float64).T
        i, j = np.indices(s.shape)
        s[(j > i) | (j <= i - window)] = -np.inf
        s = np.concatenate([s, np.full((n, 1), sinks[h])], axis=1)
        p = np.exp(s - s.max(1, keepdims=True))
        expected[:, h] = (p / p.sum(1, keepdims=True))[:, :-1] @ v[:, group].astype(np.float64)
    launch = Launch(WindowAttention(), (heads, kv_heads, n, d, window, q, k, v, sinks, o))
    return Case((launch,), o, expected, atol=3e-3, rtol=3e-3)
