# SPDX-License-Identifier: Apache-2.0
"""Matmul of 8-bit floats with scales per tile of K, added up in two levels; three slots."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import bfloat16, float8_e4m3, float32, int32


class BlockScaled(tile.Script):
    def __init__(self, bm=32, bn=32, bk=32, slots=3, warps=4):
        super().__init__()
        self.bm, self.bn, self.bk, self.slots, self.warps = bm, bn, bk, slots, warps

    def __call__(
        self,
        m: int32,
        n: int32,
        k: int32,
        a_ptr: ~float8_e4m3,
        b_ptr: ~float8_e4m3,
        sa_ptr: ~float32,
        sb_ptr: ~float32,
        c_ptr: ~bfloat16,
    ):
        bm, bn, bk, slots = self.bm, self.bn, self.bk, self.slots
        self.attrs.blocks = self.utils.cdiv(m, bm), self.utils.cdiv(n, bn)
        self.attrs.warps = self.warps
        steps = self.utils.cdiv(k, bk)
        ga = self.global_view(a_ptr, dtype=float8_e4m3, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=float8_e4m3, shape=[n, k])
        gsa = self.global_view(sa_ptr, dtype=float32, shape=[m, steps])
        gsb = self.global_view(sb_ptr, dtype=float32, shape=[self.utils.cdiv(n, bn), steps])
        gc = self.global_view(c_ptr, dtype=bfloat16, shape=[m, n])
        row, column = self.blockIdx.x * bm, self.blockIdx.y * bn
        sa = self.shared_tensor(dtype=float8_e4m3, shape=[slots, bm, bk])
        sb = self.shared_tensor(dtype=float8_e4m3, shape=[slots, bn, bk])
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        for slot in self.range(slots - 1, unroll="all"):
            self.copy_async(ga, sa[slot], offsets=[row, slot * bk])
            self.copy_async(gb, sb[slot], offsets=[column, slot * bk])
            self.copy_async_commit_group()
        for step in range(steps):
            self.copy_async_wait_group(slots - 2)
            self.sync()
            ahead = step + slots - 1
            self.copy_async(ga, sa[ahead % slots], offsets=[row, ahead * bk])
            self.copy_async(gb, sb[ahead % slots], offsets=[column, ahead * bk])
            self.copy_async_commit_group()
            slot = step % slots
            part = self.dot(
                self.load_shared(sa[slot]),
                self.load_shared(sb[slot].transpose()),
                acc_dtype=float32,
            )
            scale = self.load_global(gsa, offsets=[row, step], shape=[bm, 1])
            acc += part * (scale * gsb[self.blockIdx.y, step].item())
        self.store_global(gc, self.cast(acc, bfloat16), offsets=[row, column])


def case(m=50, n=70, k=112):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(ml_dtypes.float8_e4m3fn) for s in ((m, k), (n, k)))
    steps = -(-k // 32)
    sa, sb = (
        rng.random((m, steps)).astype(np.float32),
        rng.random((-(-n // 32), steps)).astype(np.float32),
    )
    fa = a.astype(float) * np.repeat(sa, 32, 1)[:, :k]
    fb = b.astype(float) * np.repeat(np.repeat(sb, 32, 0)[:n], 32, 1)[:, :k]
    c = np.zeros((m, n), ml_dtypes.bfloat16)
    return Case(
        (Launch(BlockScaled(), (m, n, k, a, b, sa, sb, c)),), c, fa @ fb.T, atol=5e-2, rtol=1e-2
    )
