# SPDX-License-Identifier: Apache-2.0
"""Tile kernels with bulk copies and wgmma; marks identify lines."""

from __future__ import annotations

from xtc import tile
from xtc.tile import float16, float32, int32, void_p


class BulkDouble(tile.Script):
    """y = 2 x, by bulk copies in both directions."""

    def __init__(self, rows=64, columns=128):
        super().__init__()
        self.rows, self.columns = rows, columns

    def __call__(self, m: int32, n: int32, x_ptr: ~float16, y_ptr: ~float16):
        self.attrs.blocks = [
            self.utils.cdiv(m, self.rows),
            self.utils.cdiv(n, self.columns),
        ]
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float16, shape=[m, n])
        y = self.global_view(y_ptr, dtype=float16, shape=[m, n])
        row, column = self.rows * self.blockIdx.x, self.columns * self.blockIdx.y
        s = self.shared_tensor(dtype=float16, shape=[2, self.rows, self.columns])
        barrier = self.mbarrier.alloc(1)
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(barrier, transaction_bytes=s[0].nbytes)  # expect
            self.tma.global_to_shared(src=x, dst=s[0], offsets=[row, column], mbarrier=barrier)
        self.mbarrier.wait(barrier, phase=0)  # wait
        self.store_shared(s[1], self.load_shared(s[0]) * 2)
        self.fence.proxy_async()  # fence
        self.sync()  # sync
        with self.single_thread():
            self.tma.shared_to_global(s[1], y, offsets=[row, column])
            self.tma.commit_group()  # commit
            self.tma.wait_group(0)  # stored


class WgmmaMatmul(tile.Script):
    """c = a b, with operands in shared memory, plain or transposed."""

    def __init__(
        self,
        dtype=float16,
        a_transposed=False,
        b_transposed=False,
        warps=4,
        total=None,
        registers=False,
    ):
        super().__init__()
        self.dtype, self.warps, self.registers = dtype, warps, registers
        self.total = total or (float32 if dtype.is_float() else int32)
        self.a_transposed, self.b_transposed = a_transposed, b_transposed

    def __call__(self, m: int, n: int, k: int, a_ptr: void_p, b_ptr: void_p, c_ptr: void_p):
        self.attrs.blocks = 1
        self.attrs.warps = self.warps
        a_shape = [k, m] if self.a_transposed else [m, k]
        b_shape = [n, k] if self.b_transposed else [k, n]
        ga = self.global_view(a_ptr, dtype=self.dtype, shape=a_shape)
        gb = self.global_view(b_ptr, dtype=self.dtype, shape=b_shape)
        gc = self.global_view(c_ptr, dtype=self.total, shape=[m, n])
        sa = self.shared_tensor(dtype=self.dtype, shape=a_shape)
        sb = self.shared_tensor(dtype=self.dtype, shape=b_shape)
        self.store_shared(sa, self.load_global(ga, offsets=[0, 0], shape=a_shape))
        self.store_shared(sb, self.load_global(gb, offsets=[0, 0], shape=b_shape))
        self.fence.proxy_async()  # shown
        self.sync()  # met
        acc = self.register_tensor(dtype=self.total, shape=[m, n], init=0)
        a = sa.transpose() if self.a_transposed else sa
        if self.registers:
            a = self.load_shared(a)
        self.wgmma.fence()  # ordered
        self.wgmma.mma(a, sb.transpose() if self.b_transposed else sb, acc)
        self.wgmma.commit_group()  # committed
        self.wgmma.wait_group(0)  # multiplied
        self.store_global(gc, acc, offsets=[0, 0])


class Skipping(tile.Script):
    """c = a b, where a run-time branch skips the blocks of a that are not flagged."""

    def __call__(
        self, k: int32, flag_ptr: ~int32, a_ptr: ~float16, b_ptr: ~float16, c_ptr: ~float32
    ):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        flags = self.global_view(flag_ptr, dtype=int32, shape=[self.utils.cdiv(k, 32)])
        ga = self.global_view(a_ptr, dtype=float16, shape=[64, k])
        gb = self.global_view(b_ptr, dtype=float16, shape=[k, 64])
        sa = self.shared_tensor(dtype=float16, shape=[64, 32])
        sb = self.shared_tensor(dtype=float16, shape=[32, 64])
        acc = self.register_tensor(dtype=float32, shape=[64, 64], init=0.0)
        for number in range(self.utils.cdiv(k, 32)):
            if flags[number].item() != 0:
                self.store_shared(
                    sa, self.load_global(ga, offsets=[0, number * 32], shape=[64, 32])
                )
                self.store_shared(
                    sb, self.load_global(gb, offsets=[number * 32, 0], shape=[32, 64])
                )
                self.fence.proxy_async()
                self.sync()
                self.wgmma.fence()
                self.wgmma.mma(sa, sb, acc)
                self.wgmma.commit_group()
                self.wgmma.wait_group(0)
                self.sync()
        gc = self.global_view(c_ptr, dtype=float32, shape=[64, 64])
        self.store_global(gc, acc, offsets=[0, 0])


class FromRegisters(tile.Script):
    """d = (a b) c, whose intermediate result stays in registers, as in attention."""

    def __init__(self, dtype=float16, transposed=False, total=float32):
        super().__init__()
        self.dtype, self.transposed, self.total = dtype, transposed, total

    def __call__(
        self, m: int, k: int, n: int, a_ptr: void_p, b_ptr: void_p, c_ptr: void_p, d_ptr: void_p
    ):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        c_shape = [n, k] if self.transposed else [k, n]
        a = self.shared(a_ptr, [m, k])
        b = self.shared(b_ptr, [k, k])
        c = self.shared(c_ptr, c_shape)
        self.fence.proxy_async()
        self.sync()
        first = self.register_tensor(dtype=float32, shape=[m, k], init=0.0)
        self.wgmma.fence()
        self.wgmma.mma(a, b, first)
        self.wgmma.commit_group()
        self.wgmma.wait_group(0)
        second = self.register_tensor(dtype=self.total, shape=[m, n], init=0.0)
        between = self.cast(first, dtype=self.dtype)
        self.wgmma.fence()  # registers
        self.wgmma.mma(between, c.transpose() if self.transposed else c, second)
        self.wgmma.commit_group()
        self.wgmma.wait_group(0)  # second
        gd = self.global_view(d_ptr, dtype=self.total, shape=[m, n])
        self.store_global(gd, second, offsets=[0, 0])

    def shared(self, pointer, shape):
        """A tensor in shared memory."""
        s = self.shared_tensor(dtype=self.dtype, shape=shape)
        g = self.global_view(pointer, dtype=self.dtype, shape=shape)
        self.store_shared(s, self.load_global(g, offsets=[0, 0], shape=shape))
        return s


class OddRows(tile.Script):
    def __call__(self, x_ptr: ~float16):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float16, shape=[16, 48])
        s = self.shared_tensor(dtype=float16, shape=[16, 48])
        barrier = self.mbarrier.alloc(1)
        with self.single_thread():
            self.tma.global_to_shared(src=x, dst=s, offsets=[0, 0], mbarrier=barrier)


class OddStride(tile.Script):
    def __call__(self, x_ptr: ~float16):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float16, shape=[16, 33])
        s = self.shared_tensor(dtype=float16, shape=[16, 32])
        barrier = self.mbarrier.alloc(1)
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(barrier, s.nbytes)
            self.tma.global_to_shared(src=x, dst=s, offsets=[0, 0], mbarrier=barrier)
        self.mbarrier.wait(barrier, phase=0)


class OddMatmul(tile.Script):
    def __call__(self, x_ptr: ~float16):
        self.attrs.blocks = 1
        self.attrs.warps = 4
        s = self.shared_tensor(dtype=float16, shape=[32, 32])
        acc = self.register_tensor(dtype=float32, shape=[32, 32], init=0.0)
        self.wgmma.mma(s, s, acc)


class TwoWarps(tile.Script):
    def __call__(self, x_ptr: ~float16):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        s = self.shared_tensor(dtype=float16, shape=[64, 64])
        acc = self.register_tensor(dtype=float32, shape=[64, 64], init=0.0)
        self.wgmma.mma(s, s, acc)
