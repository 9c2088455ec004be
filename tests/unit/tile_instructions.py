# SPDX-License-Identifier: Apache-2.0
"""Kernels with less common instructions: narrow types, atomics, scans, semaphores."""

from __future__ import annotations

from typing import Any

from xtc import tile
from xtc.tile import bfloat16, boolean, float16, float32, int4b, int32, uint8, uint32, void_p
from xtc.tile.layout import column_spatial, local, spatial


class Narrow(tile.Script):
    """Rows of a narrow type cast to float32, and back."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype

    def __call__(self, m: int32, n: int, x: void_p, y: ~float32, z: void_p) -> None:
        self.attrs.blocks = self.utils.cdiv(m, 16)
        self.attrs.warps = 2
        row = 16 * self.blockIdx.x
        gx = self.global_view(x, dtype=self.dtype, shape=[m, n])
        gy = self.global_view(y, dtype=float32, shape=[m, n])
        gz = self.global_view(z, dtype=self.dtype, shape=[m, n])
        staged = self.shared_tensor(dtype=self.dtype, shape=[16, n])
        self.copy_async(gx, staged, offsets=[row, 0])
        self.copy_async_wait_all()
        self.sync()
        wide = self.cast(self.load_shared(staged), float32)
        self.store_global(gy, wide, offsets=[row, 0])
        self.store_global(gz, self.cast(wide, self.dtype), offsets=[row, 0])


class Histogram(tile.Script):
    """The count of each number, twice; running sums; reversed rows."""

    def __call__(self, x: ~int32, counts: ~int32, sums: ~int32, turned: ~int32) -> None:
        self.attrs.blocks = 3
        self.attrs.warps = 4
        row = self.blockIdx.x
        gx = self.global_view(x, dtype=int32, shape=[3, 96])
        gc = self.global_view(counts, dtype=int32, shape=[2, 8])
        gs = self.global_view(sums, dtype=int32, shape=[3, 96])
        gt = self.global_view(turned, dtype=int32, shape=[3 * 96])
        r = self.load_global(gx, offsets=[row, 0], shape=[96], dims=[1])
        ones = self.register_tensor(dtype=int32, shape=[96], init=1)
        self.atomic.global_scatter_add(
            self.global_view(counts, dtype=int32, shape=[8]), dim=0, indices=r, values=ones
        )
        own = self.shared_tensor(dtype=int32, shape=[8])
        self.store_shared(own, self.register_tensor(dtype=int32, shape=[8], init=0))
        self.sync()
        self.atomic.shared_scatter_add(own, dim=0, indices=r, values=ones)
        self.sync()
        found = self.load_shared(own).unsqueeze(0)
        below = self.register_tensor(dtype=int32, shape=[2, 8], init=lambda i, j: i)
        self.atomic.global_add(gc, self.where(below == 1, found, 0))
        self.store_global(gs, self.cumsum(r, dim=0, exclusive=True), offsets=[row, 0], dims=[1])
        there = self.register_tensor(dtype=int32, shape=[96], init=lambda i: 95 - i)
        self.store_global_scatter(gt, dim=0, indices=there + row * 96, values=r)


class Tickets(tile.Script):
    """Every element gets a distinct number."""

    def __call__(self, counter: ~int32, drawn: ~int32) -> None:
        self.attrs.blocks = 2
        self.attrs.warps = 2
        count = self.global_view(counter, dtype=int32, shape=[1])
        out = self.global_view(drawn, dtype=int32, shape=[2, 24])
        zero = self.register_tensor(dtype=int32, shape=[24], init=0)
        ticket = self.atomic.global_scatter_add(count, dim=0, indices=zero, values=zero + 1)
        self.store_global(out, ticket, offsets=[self.blockIdx.x, 0], dims=[1])


class Ordering(tile.Script):
    """An atomic addition that orders surrounding accesses."""

    def __init__(self, sem: str) -> None:
        super().__init__()
        self.sem = sem

    def __call__(self, counter: ~int32) -> None:
        self.attrs.blocks = 1
        self.attrs.warps = 1
        count = self.global_view(counter, dtype=int32, shape=[1])
        step = self.register_tensor(dtype=int32, shape=[1], init=1)
        self.atomic.global_add(count, step, sem=self.sem)


class Scans(tile.Script):
    """Scans of rows and columns."""

    def __init__(self, op: str, dim: int, exclusive: bool) -> None:
        super().__init__()
        self.op, self.dim, self.exclusive = op, dim, exclusive

    def __call__(self, x: ~int32, y: ~int32) -> None:
        self.attrs.blocks = 1
        self.attrs.warps = 4
        gx = self.global_view(x, dtype=int32, shape=[24, 40])
        gy = self.global_view(y, dtype=int32, shape=[24, 40])
        r = self.load_global(gx, offsets=[0, 0], shape=[24, 40])
        r = self.scan(r, dim=self.dim, op=self.op, exclusive=self.exclusive)
        self.store_global(gy, r, offsets=[0, 0])


class Ordered(tile.Script):
    """Blocks add to the same tile in order."""

    def __call__(self, n: int32, x: ~float32, y: ~float32) -> None:
        self.attrs.blocks = (2, n)
        self.attrs.warps = 2
        column, part = self.blockIdx.x * 32, self.blockIdx.y
        gx = self.global_view(x, dtype=float32, shape=[n, 64])
        gy = self.global_view(y, dtype=float32, shape=[64])
        turns = self.global_tensor(dtype=int32, shape=[2], requires_clean=True)
        turn = turns[self.blockIdx.x].item_ptr()
        r = self.load_global(gx, offsets=[part, column], shape=[32], dims=[1])
        self.lock_semaphore(turn, value=part)
        r = r * 2.0 + self.load_global(gy, offsets=[column], shape=[32])
        self.sync()
        self.store_global(gy, r, offsets=[column])
        self.sync()
        self.release_semaphore(turn, value=(part + 1) % n)


class Elements(tile.Script):
    """Single elements of memory and of tiles."""

    def __call__(self, n: int32, x: ~int32, y: ~int32) -> None:
        self.attrs.blocks = n
        self.attrs.warps = 1
        (row, _, _) = self.blockIdx
        gx = self.global_view(x, dtype=int32, shape=[n, 4])
        gy = self.global_view(y, dtype=int32, shape=[n, 8])
        first: int32 = gx[row, 1].item()
        counts = self.register_tensor(dtype=int32, shape=[8], init=0)
        for i in range(first):
            counts[i % 8] += i
        counts[7] = gx[row][2].item() - counts[1].item()
        quotient, rest = self.fast_divmod(first, 3)
        counts[6] = 10 * quotient + rest
        self.store_global(gy, counts, offsets=[row, 0], dims=[1])


class Philox(tile.Script):
    """Random numbers."""

    def __call__(self, seed: uint32, bits: ~uint32, numbers: ~float32) -> None:
        self.attrs.blocks = 1
        self.attrs.warps = 1
        where = self.register_tensor(dtype=int32, shape=[64], init=lambda i: i)
        a, b, c, d = self.randint4x(seed, where)
        out = self.global_view(bits, dtype=uint32, shape=[4, 64])
        self.store_global(out, a, offsets=[0, 0], dims=[1])
        self.store_global(out, b, offsets=[1, 0], dims=[1])
        self.store_global(out, c, offsets=[2, 0], dims=[1])
        self.store_global(out, d, offsets=[3, 0], dims=[1])
        floats = self.global_view(numbers, dtype=float32, shape=[64])
        self.store_global(floats, self.rand(seed, where), offsets=[0])


class Prints(tile.Script):
    """Print numbers and tensors."""

    def __call__(self, n: int32) -> None:
        self.attrs.blocks = 1
        self.attrs.warps = 1
        self.printf("%s has %d of %5.2f%%\n", "it", n, 1.5)
        r = self.register_tensor(dtype=float16, shape=[2, 3], init=lambda i, j: i * 3 + j)
        self.print_tensor("r = ", r)
        self.print_tensor("", self.register_tensor(dtype=boolean, shape=[2], init=lambda i: i > 0))


class Debugged(tile.Script):
    """Sums of two warps; one block prints the results of instructions."""

    debug_block = (1, 0, 0)

    def __call__(self, n: int32, x_ptr: ~int32) -> None:
        self.attrs.blocks = self.utils.cdiv(n, 4)
        self.attrs.warps = 2
        x = self.global_view(x_ptr, dtype=int32, shape=[n])
        s = self.shared_tensor(dtype=int32, shape=[4])
        large = self.register_tensor(dtype=int32, shape=[64, 128], init=1)
        for at in self.range(4 * self.blockIdx.x, n, 8):
            with self.single_warp(1):
                self.store_shared(s, self.load_global(x, offsets=[at], shape=[4]) * 2)
            self.sync()
            self.store_global(x, src=self.load_shared(s) + self.sum(large), offsets=[at])
            self.sync()


class Packed(tile.Script):
    """Tiles of 4-bit weights as the bytes of each thread, in sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.held = local(1, 2) * local(2, 1) * column_spatial(4, 8) * local(2, 1)
        self.flat = spatial(32) * local(4)

    def __call__(self, k: int, n: int, weights: void_p, packed: void_p) -> None:
        self.attrs.blocks = (k // 16, n // 16)
        self.attrs.warps = 1
        i, j, _ = self.blockIdx
        g = self.global_view(weights, dtype=int4b, shape=[k, n])
        tile_read = self.load_global(g, offsets=[i * 16, j * 16], shape=[16, 16])
        self.annotate_layout(tile_read, self.held)
        out = self.global_view(packed, dtype=uint8, shape=[k // 16, n // 16, 128])
        seen = self.view(tile_read, dtype=uint8, layout=self.flat)
        self.store_global(out, seen, offsets=[i, j, 0], dims=[2])


class Unpacked(Packed):
    """The inverse of Packed."""

    def __call__(self, k: int, n: int, packed: void_p, weights: void_p) -> None:
        self.attrs.blocks = (k // 16, n // 16)
        self.attrs.warps = 1
        i, j, _ = self.blockIdx
        source = self.global_view(packed, dtype=uint8, shape=[k // 16, n // 16, 128])
        seen = self.load_global(source, offsets=[i, j, 0], shape=[128], dims=[2])
        self.annotate_layout(seen, self.flat)
        g = self.global_view(weights, dtype=int4b, shape=[k, n])
        tile_seen = self.view(seen, dtype=int4b, layout=self.held)
        self.store_global(g, tile_seen, offsets=[i * 16, j * 16])


class BrainFunctions(tile.Script):
    """y = exp(sqrt(round(|x|))), computed on bfloat16."""

    def __call__(self, n: int32, x_ptr: ~bfloat16, y_ptr: ~bfloat16):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=bfloat16, shape=[n])
        y = self.global_view(y_ptr, dtype=bfloat16, shape=[n])
        here = self.abs(self.load_global(x, offsets=[0], shape=[64]))
        self.sync()
        self.store_global(y, self.exp(self.sqrt(self.round(here))), offsets=[0])


class ScatteredOutside(tile.Script):
    """Stores the elements of which the index is below n, and no others."""

    def __call__(self, n: int32, x_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=int32, shape=[n])
        at = self.register_tensor(dtype=int32, shape=[32], init=lambda i: i)
        self.store_global_scatter(x, dim=0, indices=at + 4, values=at)
