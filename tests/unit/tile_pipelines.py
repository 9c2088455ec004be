# SPDX-License-Identifier: Apache-2.0
"""Matmuls with plain copies and dots, which become pipelines of bulk copies on sm_90a."""

from __future__ import annotations

from typing import Any

from xtc import tile
from xtc.tile import float16, float32, int32, void_p


class Matmul(tile.Script):
    """c = a b, or of transposed operands, with `slots` slots that copies fill in advance; stored as
    it is accumulated, or as `stored`."""

    def __init__(
        self,
        tiles: tuple[int, int, int] = (64, 64, 32),
        slots: int = 1,
        dtype: Any = float16,
        transposed: str = "",
        warps: int = 4,
        stored: Any = None,
    ):
        super().__init__()
        self.total = float32 if dtype.is_float() else int32
        self.stored = stored or self.total
        self.bm, self.bn, self.bk = tiles
        self.slots, self.dtype, self.warps = slots, dtype, warps
        self.a_columns, self.b_columns = "a" in transposed, "b" in transposed

    def __call__(self, m: int32, n: int, k: int, a_ptr: void_p, b_ptr: void_p, c_ptr: void_p):
        bm, bn, bk = self.bm, self.bn, self.bk
        self.attrs.blocks = [self.utils.cdiv(m, bm), self.utils.cdiv(n, bn)]
        self.attrs.warps = self.warps
        self.assume(m % 8 == 0)
        self.row, self.column = bm * self.blockIdx.x, bn * self.blockIdx.y
        a_shape, b_shape = [m, k], [k, n]
        a_tile, b_tile = [bm, bk], [bk, bn]
        if self.a_columns:
            a_shape, a_tile = [k, m], [bk, bm]
        if self.b_columns:
            b_shape, b_tile = [n, k], [bn, bk]
        self.ga = self.global_view(a_ptr, dtype=self.dtype, shape=a_shape)
        self.gb = self.global_view(b_ptr, dtype=self.dtype, shape=b_shape)
        gc = self.global_view(c_ptr, dtype=self.stored, shape=[m, n])
        self.sa = self.shared_tensor(dtype=self.dtype, shape=[self.slots, *a_tile])
        self.sb = self.shared_tensor(dtype=self.dtype, shape=[self.slots, *b_tile])
        acc = self.register_tensor(dtype=self.total, shape=[bm, bn], init=0)
        for slot in self.range(self.slots - 1, unroll="all"):
            self.copy(slot, slot * bk)
        full: int32 = 0
        free: int32 = self.slots - 1
        for at in range(0, k, bk):
            self.copy(free, at + (self.slots - 1) * bk)
            self.copy_async_wait_group(self.slots - 1)  # wait
            self.sync()  # shown
            a, b = self.load_shared(self.sa[full]), self.load_shared(self.sb[full])
            if self.a_columns:
                a = self.transpose(a)
            if self.b_columns:
                b = self.load_shared(self.sb[full].transpose())
            self.dot(a, b, acc, out=acc)
            self.sync()  # read
            full = (full + 1) % self.slots
            free = (free + 1) % self.slots
        self.copy_async_wait_all()
        self.sync()
        self.free_shared(self.sa)
        self.free_shared(self.sb)
        self.store_global(gc, self.followed(acc), offsets=[self.row, self.column])

    def followed(self, acc):
        """What is stored."""
        return self.cast(acc, self.stored)

    def copy(self, slot, at):
        """Start to fill a slot."""
        a_at, b_at = [self.row, at], [at, self.column]
        if self.a_columns:
            a_at = [at, self.row]
        if self.b_columns:
            b_at = [self.column, at]
        self.copy_async(self.ga, self.sa[slot], offsets=a_at)
        self.copy_async(self.gb, self.sb[slot], offsets=b_at)
        self.copy_async_commit_group()


class Batched(tile.Script):
    """c[i] = max(a[i] b[i] + bias, 0), with partial sums and run-time sizes."""

    def __call__(
        self,
        count: int32,
        m: int32,
        k: int32,
        n: int32,
        a_ptr: ~float16,
        b_ptr: ~float16,
        bias_ptr: ~float32,
        c_ptr: ~float16,
    ):
        bm, bn, bk = 64, 128, 64
        self.attrs.blocks = [self.utils.cdiv(n, bn), self.utils.cdiv(m, bm), count]
        self.attrs.warps = 4
        self.assume(k % 8 == 0 and n % 8 == 0)
        column, row, batch = bn * self.blockIdx.x, bm * self.blockIdx.y, self.blockIdx.z
        ga = self.global_view(a_ptr, dtype=float16, shape=[count, m, k])
        gb = self.global_view(b_ptr, dtype=float16, shape=[count, k, n])
        gc = self.global_view(c_ptr, dtype=float16, shape=[count, m, n])
        bias = self.global_view(bias_ptr, dtype=float32, shape=[n])
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        sa = self.shared_tensor(dtype=float16, shape=[bm, bk])
        sb = self.shared_tensor(dtype=float16, shape=[bk, bn])
        shared_bias = self.shared_tensor(dtype=float32, shape=[bn])
        self.store_shared(shared_bias, self.load_global(bias, offsets=[column], shape=[bn]))
        for step in range(self.utils.cdiv(k, bk)):
            self.sync()
            self.copy_async(ga, sa, offsets=[batch, row, step * bk], dims=[1, 2])
            self.copy_async(gb, sb, offsets=[batch, step * bk, column], dims=[1, 2])
            self.copy_async_wait_all()
            self.sync()
            self.dot(self.load_shared(sa), self.load_shared(sb), acc, out=acc)
        self.sync()
        total = acc + self.unsqueeze(self.load_shared(shared_bias), dim=0)
        total = self.cast(self.maximum(total, 0.0), dtype=float16)
        self.store_global(gc, total, offsets=[batch, row, column], dims=[1, 2])


class Biased(Matmul):
    """One that adds the first row of b, which a thread loads into registers."""

    def followed(self, acc):
        bias = self.load_global(self.gb, offsets=[0, self.column], shape=[self.bn], dims=[1])
        return acc + self.unsqueeze(self.cast(bias, float32), dim=0)


class Guarded(Matmul):
    """A matmul whose loop contains other code."""

    def copy(self, slot, at):
        if self.blockIdx.x < 100:
            self.copy_async(self.ga, self.sa[slot], offsets=[self.row, at])
        self.copy_async(self.gb, self.sb[slot], offsets=[at, self.column])
        self.copy_async_commit_group()


class Around(tile.Script):
    """A loop whose barriers also order the surrounding code and its copies; or one whose copies
    depend on the kernel's stores."""

    def __init__(self, what: str):
        super().__init__()
        self.what = what

    def __call__(self, a_ptr: ~float16, b_ptr: ~float16, s_ptr: ~int32, c_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 2, 4
        a = self.global_view(a_ptr, dtype=float16, shape=[128, 64])
        b = self.global_view(b_ptr, dtype=float16, shape=[64, 64])
        c = self.global_view(c_ptr, dtype=float32, shape=[128, 64])
        scratch = self.global_view(s_ptr, dtype=int32, shape=[2, 64])
        sa = self.shared_tensor(dtype=float16, shape=[64, 32])
        sb = self.shared_tensor(dtype=float16, shape=[32, 64])
        sums = self.register_tensor(dtype=float32, shape=[64, 64], init=0.0)
        block, row = self.blockIdx.x, 64 * self.blockIdx.x
        numbers = self.register_tensor(dtype=int32, shape=[1, 64], init=row)
        added = self.register_tensor(dtype=int32, shape=[64, 1], init=0)
        if self.what == "shared":
            kept = self.shared_tensor(dtype=int32, shape=[1, 64])
            self.store_shared(kept, numbers)
        if self.what == "offset in shared memory":
            kept = self.shared_tensor(dtype=int32, shape=[1])
            self.store_shared(kept, self.register_tensor(dtype=int32, shape=[1], init=row))
        if self.what in ("global", "offset", "atomic"):
            self.store_global(scratch, numbers, offsets=[block, 0])
        if self.what == "operand":
            self.store_global(a, self.cast(sums, float16) + 1, offsets=[row, 0])
        if self.what in ("offset", "offset in shared memory", "operand"):
            self.sync()
        if self.what == "offset":
            row = scratch[block, 3].item()
        if self.what == "offset in shared memory":
            row = kept[0].item()
        for at in range(0, 64, 32):
            self.copy_async(a, sa, offsets=[row, at])
            self.copy_async(b, sb, offsets=[at, 0])
            self.copy_async_wait_all()
            self.sync()
            self.dot(self.load_shared(sa), self.load_shared(sb), sums, out=sums)
            self.sync()
        if self.what == "shared":
            added = self.load_shared(kept.transpose())
        if self.what == "global":
            turned = self.global_view(s_ptr + 64 * block, dtype=int32, shape=[64, 1])
            added = self.load_global(turned, offsets=[0, 0], shape=[64, 1])
        if self.what == "atomic":
            unit = self.register_tensor(dtype=int32, shape=[1, 1], init=1)
            first = self.global_view(s_ptr, dtype=int32, shape=[1, 1])
            self.atomic.global_add(first, unit, sem="release")
        self.store_global(c, sums + self.cast(added, float32), offsets=[64 * block, 0])
