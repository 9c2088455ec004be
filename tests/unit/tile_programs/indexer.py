# SPDX-License-Identifier: Apache-2.0
"""Scores of an index over a paged cache: 8-bit keys by bulk copies, their scales by others."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import boolean, float8_e4m3, float32, int32, void_p


class Indexer(tile.Script):
    """The weighted sum over heads of max(key . query, 0), times the scale of the key. The scales of
    a page follow its keys."""

    PAGE, HEADS, DIM = 32, 16, 64
    TOGETHER = 2

    def __call__(
        self,
        batch: int32,
        pages: int32,
        longest: int32,
        query_ptr: ~float8_e4m3,
        cache_ptr: void_p,
        weight_ptr: ~float32,
        length_ptr: ~int32,
        table_ptr: ~int32,
        score_ptr: ~float32,
    ):
        page, heads, dim, block = self.PAGE, self.HEADS, self.DIM, self.PAGE * self.TOGETHER
        page_bytes = page * (dim + 4)
        self.attrs.blocks = self.utils.cdiv(longest, block), batch
        self.attrs.warps = 4
        first, row = self.TOGETHER * self.blockIdx.x, self.blockIdx.y
        query = self.global_view(query_ptr, dtype=float8_e4m3, shape=[batch, heads, dim])
        keys = self.global_view(
            cache_ptr, dtype=float8_e4m3, shape=[pages, page, dim], strides=[page_bytes, dim, 1]
        )
        scales = self.global_view(
            cache_ptr + page * dim,
            dtype=float32,
            shape=[pages, page],
            strides=[page_bytes // 4, 1],
        )
        table = self.global_view(
            table_ptr, dtype=int32, shape=[batch, self.utils.cdiv(longest, page)]
        )
        sq = self.shared_tensor(dtype=float8_e4m3, shape=[heads, dim])
        sk = self.shared_tensor(dtype=float8_e4m3, shape=[self.TOGETHER, page, dim])
        ss = self.shared_tensor(dtype=float32, shape=[self.TOGETHER, page])
        full = self.mbarrier.alloc(1)
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(full, sq.nbytes + sk.nbytes)
            self.tma.global_to_shared(
                src=query, dst=sq, offsets=[row, 0, 0], dims=[1, 2], mbarrier=full
            )
        for part in self.range(self.TOGETHER, unroll="all"):
            number = table[row, first + part].item()
            self.copy_async(scales, ss[part], offsets=[number, 0], dims=[1])
            with self.single_thread():
                self.tma.global_to_shared(
                    src=keys, dst=sk[part], offsets=[number, 0, 0], dims=[1, 2], mbarrier=full
                )
        self.mbarrier.wait(full, phase=0)
        products = self.register_tensor(dtype=float32, shape=[block, heads], init=0.0)
        self.wgmma.fence()
        self.wgmma.mma(self.reshape_shared(sk, [block, dim]), sq.transpose(), products)
        self.wgmma.commit_group()
        self.wgmma.wait_group(0)
        self.copy_async_wait_all()
        self.sync()
        weights = self.load_global(
            self.global_view(weight_ptr, dtype=float32, shape=[batch, heads]),
            offsets=[row, 0],
            shape=[heads],
            dims=[1],
        )
        total = self.sum(self.maximum(products, 0.0) * self.unsqueeze(weights, dim=0), dim=1)
        total = total * self.load_shared(self.reshape_shared(ss, [block]))
        length = self.global_view(length_ptr, dtype=int32, shape=[batch])[row].item()
        begin = self.blockIdx.x * block
        valid = self.register_tensor(
            dtype=boolean, shape=[block], init=lambda i: begin + i < length
        )
        score = self.global_view(score_ptr, dtype=float32, shape=[batch, longest])
        self.store_global(score, self.where(valid, x=total, y=-1.0), offsets=[row, begin], dims=[1])


def case(batch=2, pages=7, longest=128):
    rng = np.random.default_rng(0)
    page, heads, dim = Indexer.PAGE, Indexer.HEADS, Indexer.DIM
    kind = ml_dtypes.float8_e4m3fn
    query = rng.integers(-2, 3, (batch, heads, dim)).astype(kind)
    keys = rng.integers(-2, 3, (pages, page, dim)).astype(kind)
    scales = 2.0 ** rng.integers(-2, 3, (pages, page)).astype(np.float32)
    weights = rng.integers(-3, 4, (batch, heads)).astype(np.float32)
    packed = [keys.view(np.uint8).reshape(pages, -1), scales.view(np.uint8).reshape(pages, -1)]
    cache = np.concatenate(packed, axis=1)
    lengths = np.array([longest - 5, 41], np.int32)
    table = rng.integers(0, pages, (batch, longest // page)).astype(np.int32)
    score = np.zeros((batch, longest), np.float32)
    wide = keys.astype(np.float32)[table].reshape(batch, longest, dim)
    products = np.maximum(wide @ query.astype(np.float32).transpose(0, 2, 1), 0)
    expected = (products * weights[:, None]).sum(2) * scales[table].reshape(batch, longest)
    expected = np.where(np.arange(longest) < lengths[:, None], expected, -1)
    arguments = (batch, pages, longest, query, cache, weights, lengths, table, score)
    return Case((Launch(Indexer(), arguments),), score, expected)
