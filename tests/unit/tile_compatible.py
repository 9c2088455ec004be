# SPDX-License-Identifier: Apache-2.0
"""Tile kernels that use names of the language which other tests do not cover."""

from __future__ import annotations

import math

import numpy as np

from xtc import tile
from xtc.tile import bfloat16, boolean, float16, float32, int8, int32, uint16, uint32, void_p


class Elected(tile.Script):
    """y = x by bulk copies that a warp starts together, slot by slot through a pipeline."""

    def __call__(self, n: int32, x_ptr: ~float16, y_ptr: ~float16):
        self.attrs.blocks = 1
        self.attrs.warps = 5
        x = self.global_view(x_ptr, dtype=float16, shape=[n, 64])
        y = self.global_view(y_ptr, dtype=float16, shape=[n, 64])
        s = self.shared_tensor(dtype=float16, shape=[2, 16, 64])
        pipe = tile.Pipeline(2, 1, self.current_num_threads - 32)
        with self.thread_group(128, 32):
            for row in self.range(0, n, 16):
                pipe.producer_acquire()
                full = pipe.producer_release_barrier()
                with self.single_thread():
                    self.mbarrier.arrive_and_expect_tx(full, s[0].nbytes)
                self.tma.global_to_shared(
                    src=x, dst=s[pipe.producer_stage], offsets=[row, 0], mbarrier=full
                )
                pipe.producer_advance()
            for _ in range(2):
                pipe.producer_acquire()
                pipe.producer_advance()
        with self.thread_group(0, 128):
            for row in self.range(0, n, 16):
                pipe.consumer_acquire()
                self.store_global(
                    dst=y, src=self.load_shared(src=s[pipe.consumer_stage]), offsets=[row, 0]
                )
                self.mbarrier.arrive(pipe.consumer_release_barrier())
                pipe.consumer_advance()
                with self.single_warp():
                    self.static_assert(self.current_thread_end == 32, "of the first warp")


class Normal(tile.Script):
    """Normally distributed numbers, and a tile repeated along more dimensions than it has."""

    def __call__(self, seed: int32, y_ptr: ~float32, z_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        at = self.register_tensor(dtype=uint32, shape=[1024], init=lambda i: i)
        y = self.global_view(y_ptr, dtype=float32, shape=[5, 1024])
        self.store_global(y, self.randn(seed, at), offsets=[0, 0], dims=[1])
        for number, drawn in enumerate(self.randn4x(seed, at)):
            self.store_global(y, drawn, offsets=[1 + number, 0], dims=[1])
        z = self.global_view(z_ptr, dtype=int32, shape=[2, 8])
        four = self.register_tensor(dtype=int32, shape=[4], init=lambda i: i)
        self.store_global(z, self.repeat(four, [2, 2]), offsets=[0, 0])


class Drawn(tile.Script):
    """Random bits, and normally distributed numbers."""

    def __call__(self, seed: tile.uint64, bits_ptr: ~tile.uint32, y_ptr: ~tile.float32):
        self.attrs.blocks, self.attrs.warps = 1, 1
        at = self.register_tensor(dtype=tile.uint32, shape=[256], init=lambda i: i)
        bits = self.global_view(bits_ptr, dtype=tile.uint32, shape=[2, 256])
        for row, numbers in enumerate(self.randint4x(seed, at)[:2]):
            self.store_global(bits, numbers, offsets=[row, 0], dims=[1])
        y = self.global_view(y_ptr, dtype=tile.float32, shape=[256])
        self.store_global(y, self.randn(seed, at), offsets=[0])


class Widened(tile.Script):
    """y = x, of a narrow type, as float32."""

    def __init__(self, dtype: tile.DataType):
        super().__init__()
        self.dtype = dtype

    def __call__(self, x_ptr: void_p, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=self.dtype, shape=[16, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[16, 32])
        narrow = self.load_global(x, offsets=[0, 0], shape=[16, 32])
        self.store_global(y, self.cast(narrow, dtype=float32), offsets=[0, 0])


class AtByte(tile.Script):
    """y = 4 elements of a type from a byte on; the second one again, by its address."""

    def __init__(self, dtype: tile.DataType, begin: int | None = None):
        super().__init__()
        self.dtype, self.begin = dtype, begin

    def __call__(self, begin: int32, x_ptr: void_p, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        from_byte = x_ptr + (begin if self.begin is None else self.begin)
        x = self.global_view(from_byte, dtype=self.dtype, shape=[4])
        y = self.global_view(y_ptr, dtype=float32, shape=[5])
        self.store_global(y, self.load_global(x, offsets=[0], shape=[4]).to(float32), offsets=[0])
        second = self.global_view(~x[1], dtype=self.dtype, shape=[1])
        again = self.load_global(second, offsets=[0], shape=[1])
        self.store_global(y, again.to(float32), offsets=[4])


class Scaled(tile.Script):
    """y = scale x by blocks of a size of NumPy, and the quotient and remainder of the count."""

    def __init__(self, block: np.int64, scale: np.float32):
        super().__init__()
        self.block, self.scale = block, scale

    def __call__(self, n: int32, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = self.utils.cdiv(n, self.block)
        self.attrs.warps = self.block // 32
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        y = self.global_view(y_ptr, dtype=float32, shape=[n])
        at = self.block * self.blockIdx.x
        t = self.load_global(x, offsets=[at], shape=[self.block]) * self.scale
        self.store_global(y, t, offsets=[at])
        if self.blockIdx.x == self.gridDim.x - 1:
            quotient, rest = divmod(n, 7)
            self.sync()
            self.store_global(y, self.reshape(float32(quotient), [1]), offsets=[n - 2])
            self.store_global(y, self.reshape(float32(rest), [1]), offsets=[n - 1])


class Total(tile.Script):
    """The sum and the maximum of all elements, stored separately, also through shared memory."""

    def __call__(self, x_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=int32, shape=[4, 6])
        y = self.global_view(y_ptr, dtype=int32, shape=[2, 2])
        loaded = self.load_global(x, offsets=[0, 0], shape=[4, 8])
        self.store_global(y, self.sum(loaded), offsets=[0, 1], dims=[])
        kept = self.shared_tensor(dtype=int32, shape=[3])
        self.store_shared(kept, self.max(loaded), offsets=[2], dims=[])
        self.sync()
        self.store_global(y, kept[2].item(), offsets=[1, 0], dims=[])


class Functions(tile.Script):
    """The results of functions of each element, one per row."""

    def __call__(self, n: int, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.load_global(
            self.global_view(x_ptr, dtype=float32, shape=[n]), offsets=[0], shape=[n]
        )
        y = self.global_view(y_ptr, dtype=float32, shape=[9, n])
        self.store_global(y, self.sin(x), offsets=[0, 0], dims=[1])
        self.store_global(y, self.cos(x), offsets=[1, 0], dims=[1])
        self.store_global(y, self.tanh(x), offsets=[2, 0], dims=[1])
        self.store_global(y, self.erf(x), offsets=[3, 0], dims=[1])
        self.store_global(y, self.floor(x), offsets=[4, 0], dims=[1])
        self.store_global(y, self.ceil(x), offsets=[5, 0], dims=[1])
        self.store_global(y, self.log2(self.abs(x)), offsets=[6, 0], dims=[1])
        self.store_global(y, self.minimum(x, self.neg(x)), offsets=[7, 0], dims=[1])
        is_zero = self.cast(self.logical_not(x), float32)
        self.store_global(y, is_zero, offsets=[8, 0], dims=[1])


class EveryFunction(tile.Script):
    """The results of all functions of one and of two operands, one per row."""

    NAMES = ("sin", "cos", "tanh", "erf", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "round")

    def __init__(self, dtype: tile.DataType):
        super().__init__()
        self.dtype = dtype

    def __call__(self, n: int, x_ptr: void_p, y_ptr: void_p):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=self.dtype, shape=[2, n])
        y = self.global_view(y_ptr, dtype=self.dtype, shape=[15, n])
        a = self.load_global(x, offsets=[0, 0], shape=[n], dims=[1])
        b = self.load_global(x, offsets=[1, 0], shape=[n], dims=[1])
        made = [getattr(self, name)(a) for name in self.NAMES]
        made += [a / b, a % b, a * b - a, a**b]
        for row, result in enumerate(made):
            self.store_global(y, result, offsets=[row, 0], dims=[1])


class Chained(tile.Script):
    """Floats cast to integers, and these to bytes and back."""

    TYPES = (tile.int32, uint32, tile.int64, tile.uint64, tile.int8, tile.uint8, tile.int4b)

    def __init__(self, dtype: tile.DataType):
        super().__init__()
        self.dtype = dtype

    def __call__(self, n: int, x_ptr: void_p, y_ptr: ~tile.int64):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=self.dtype, shape=[n])
        y = self.global_view(y_ptr, dtype=tile.int64, shape=[14, n])
        loaded = self.load_global(x, offsets=[0], shape=[n])
        for row, kind in enumerate(self.TYPES):
            made = self.cast(loaded, kind)
            self.store_global(y, self.cast(made, tile.int64), offsets=[2 * row, 0], dims=[1])
            byte = self.cast(made, tile.int8)
            self.store_global(y, self.cast(byte, tile.int64), offsets=[2 * row + 1, 0], dims=[1])


class Traced(tile.Script):
    """One slot of a pipeline, whose waits are printed."""

    def __call__(self):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        pipe = tile.Pipeline(1, producer_arrive_count=32, consumer_arrive_count=32, debug=True)
        with self.single_warp(0):
            pipe.producer_acquire()
            self.mbarrier.arrive(pipe.producer_release_barrier())
        with self.single_warp(1):
            pipe.consumer_acquire()
            self.mbarrier.arrive(pipe.consumer_release_barrier())


class NarrowNumbers(tile.Script):
    """Run-time numbers of fewer than 32 bits, and a sum of two of them."""

    def __call__(self, a: float16, b: bfloat16, i: int8, j: uint16, flag: boolean, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        y = self.global_view(y_ptr, dtype=float32, shape=[6])
        for at, number in enumerate([a, b, i, j, flag, i + i]):
            self.store_global(y, self.cast(number, float32), offsets=[at], dims=[])


class PythonFunctions(tile.Script):
    """Functions of Python's `math` of a run-time number."""

    OF_ONE = (
        *("exp", "log", "log10", "sqrt", "erf", "floor", "ceil", "trunc", "fabs"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh"),
    )
    OF_TWO = ("pow", "atan2", "fmod")

    def __init__(self, dtype: tile.DataType):
        super().__init__()
        self.dtype = dtype

    def __call__(self, x: float32, y: float32, z_ptr: void_p):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        z = self.global_view(z_ptr, dtype=self.dtype, shape=[25])
        a, b = self.cast(x, self.dtype), self.cast(y, self.dtype)
        made = [getattr(math, name)(a) for name in self.OF_ONE]
        made += [getattr(math, name)(a, b) for name in self.OF_TWO]
        made += [math.acosh(b), math.isfinite(a)]
        for at, number in enumerate(made):
            self.store_global(z, self.cast(number, self.dtype), offsets=[at], dims=[])
