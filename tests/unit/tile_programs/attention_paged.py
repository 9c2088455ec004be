# SPDX-License-Identifier: Apache-2.0
"""Decoding against a paged cache of keys and values, in splits that a second kernel combines."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves
from xtc import tile
from xtc.tile import float16, float32, int32


class PagedDecode(tile.Script):
    """A block attends to the pages of one split of one sequence, for all heads of a group."""

    def __init__(self, page=16, splits=3):
        super().__init__()
        self.page, self.splits = page, splits

    def __call__(
        self,
        batch: int32,
        heads: int,
        d: int,
        pages: int32,
        most_pages: int32,
        q_ptr: ~float16,
        k_ptr: ~float16,
        v_ptr: ~float16,
        table_ptr: ~int32,
        lengths_ptr: ~int32,
        part_ptr: ~float32,
        scale_ptr: ~float32,
    ):
        page = self.page
        self.attrs.blocks = [batch, self.splits]
        self.attrs.warps = 2
        b, split = self.blockIdx.x, self.blockIdx.y
        gq = self.global_view(q_ptr, dtype=float16, shape=[batch, heads, d])
        gk = self.global_view(k_ptr, dtype=float16, shape=[pages, page, d])
        gv = self.global_view(v_ptr, dtype=float16, shape=[pages, page, d])
        table = self.global_view(table_ptr, dtype=int32, shape=[batch, most_pages])
        lengths = self.global_view(lengths_ptr, dtype=int32, shape=[batch])
        parts = self.global_view(part_ptr, dtype=float32, shape=[batch, self.splits, heads, d])
        scales = self.global_view(scale_ptr, dtype=float32, shape=[batch, self.splits, heads])
        length = lengths[b].item()
        count = self.utils.cdiv(length, page)
        each = self.utils.cdiv(count, self.splits)
        q = self.load_global(gq, offsets=[b, 0, 0], shape=[heads, d], dims=[1, 2])
        sk = self.shared_tensor(dtype=float16, shape=[page, d])
        sv = self.shared_tensor(dtype=float16, shape=[page, d])
        acc = self.register_tensor(dtype=float32, shape=[heads, d], init=0.0)
        most = self.register_tensor(dtype=float32, shape=[heads], init=-1e30)
        total = self.register_tensor(dtype=float32, shape=[heads], init=0.0)
        for number in self.range(split * each, min(count, (split + 1) * each)):
            physical = table[b, number].item()
            self.copy_async(gk, sk, offsets=[physical, 0, 0], dims=[1, 2])
            self.copy_async(gv, sv, offsets=[physical, 0, 0], dims=[1, 2])
            self.copy_async_wait_all()
            self.sync()
            s = self.dot(q, self.load_shared(sk.transpose()), acc_dtype=float32) * 0.25
            at = self.register_tensor(dtype=int32, shape=[page], init=lambda i: i) + number * page
            s = self.where(self.unsqueeze(at < length, dim=0), s, -1e30)
            new = self.maximum(most, self.max(s, dim=1))
            p = self.exp(s - self.unsqueeze(new, dim=1))
            scale = self.exp(most - new)
            total = total * scale + self.sum(p, dim=1)
            acc = acc * self.unsqueeze(scale, dim=1)
            self.dot(self.cast(p, float16), self.load_shared(sv), acc, out=acc)
            most = new
            self.sync()
        total = self.maximum(total, 1e-30)
        self.store_global(
            parts, acc / self.unsqueeze(total, dim=1), offsets=[b, split, 0, 0], dims=[2, 3]
        )
        self.store_global(scales, most + self.log(total), offsets=[b, split, 0], dims=[2])


class Combine(tile.Script):
    """Weights the splits of a head by their sums of exponentials."""

    def __init__(self, splits=3):
        super().__init__()
        self.splits = splits

    def __call__(
        self,
        batch: int32,
        heads: int,
        d: int,
        part_ptr: ~float32,
        scale_ptr: ~float32,
        o_ptr: ~float16,
    ):
        self.attrs.blocks = [heads, batch]
        self.attrs.warps = 1
        h, b = self.blockIdx.x, self.blockIdx.y
        n = 4
        parts = self.global_view(part_ptr, dtype=float32, shape=[batch, self.splits, heads, d])
        scales = self.global_view(scale_ptr, dtype=float32, shape=[batch, self.splits, heads])
        go = self.global_view(o_ptr, dtype=float16, shape=[batch, heads, d])
        s = self.load_global(scales, offsets=[b, 0, h], shape=[n], dims=[1])
        inside = self.register_tensor(dtype=int32, shape=[n], init=lambda i: i) < self.splits
        s = self.where(inside, s, -1e30)
        weights = self.exp(s - self.max(s, dim=0, keepdim=True))
        weights = weights / self.sum(weights, dim=0, keepdim=True)
        part = self.load_global(parts, offsets=[b, 0, h, 0], shape=[n, d], dims=[1, 3])
        result = self.sum(part * self.unsqueeze(weights, dim=1), dim=0)
        self.store_global(go, self.cast(result, float16), offsets=[b, h, 0], dims=[2])


def case(batch=3, heads=16, d=16, pages=20, page=16, splits=3):
    """Sequences of one key, of a whole page, and of parts of pages in arbitrary order."""
    rng = np.random.default_rng(0)
    lengths = np.array([1, 16, 90], np.int32)
    table = np.stack([rng.permutation(pages)[:6] for _ in range(batch)]).astype(np.int32)
    q, k, v = (
        halves(0, batch, heads, d) * 4,
        halves(1, pages, page, d) * 4,
        halves(2, pages, page, d),
    )
    o = np.zeros((batch, heads, d), np.float16)
    parts = np.zeros((batch, splits, heads, d), np.float32)
    scales = np.zeros((batch, splits, heads), np.float32)
    expected = np.zeros(o.shape)
    for b, length in enumerate(lengths):
        keys = k[table[b]].reshape(-1, d)[:length].astype(np.float64)
        values = v[table[b]].reshape(-1, d)[:length].astype(np.float64)
        s = 0.25 * q[b].astype(np.float64) @ keys.T
        p = np.exp(s - s.max(1, keepdims=True))
        expected[b] = p / p.sum(1, keepdims=True) @ values
    first = Launch(
        PagedDecode(page, splits),
        (batch, heads, d, pages, table.shape[1], q, k, v, table, lengths, parts, scales),
    )
    second = Launch(Combine(splits), (batch, heads, d, parts, scales, o))
    return Case((first, second), o, expected, atol=2e-3, rtol=2e-3)
