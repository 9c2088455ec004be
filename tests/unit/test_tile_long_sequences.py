# SPDX-License-Identifier: Apache-2.0
"""Long elementwise sequences of large tiles: their code is a loop, and computes the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16 as np_bfloat16

from tests.unit.nvgpu_code import needs_ptxas
from xtc import tile
from xtc.tile import bfloat16, boolean, float16, float32, int8, int32, uint32
from xtc.tile.config import device_kept
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

ROWS = 32 * 46
"""Elements of the tile: 46 of each thread, which vectors of 4 do not divide."""


class Mixed(tile.Script):
    """Two sequences with operands and results of several types, one of them used before its end."""

    def __call__(
        self,
        x_ptr: ~float32,
        h_ptr: ~float16,
        mask_ptr: ~boolean,
        i_ptr: ~int32,
        b_ptr: ~bfloat16,
        y_ptr: ~float32,
        z_ptr: ~bfloat16,
        small_ptr: ~int8,
    ):
        self.attrs.blocks, self.attrs.warps = 1, 1
        x = self.part(x_ptr, float32)
        h = self.part(h_ptr, float16)
        mask = self.part(mask_ptr, boolean)
        i = self.part(i_ptr, int32)
        b = self.part(b_ptr, bfloat16)
        wave = self.sin(x) + self.cos(self.cast(h, float32)) * 0.5
        inside = mask & (wave < 1)
        self.put(y_ptr, self.where(inside, wave + self.sum(wave, dim=0), wave), float32)
        self.put(z_ptr, self.where(mask, self.sin(b), b), bfloat16)
        self.put(small_ptr, self.cast((i // (i % 7 + 9)) % 5, int8), int8)

    def part(self, pointer, dtype):
        view = self.global_view(pointer, dtype=dtype, shape=[ROWS])
        return self.load_global(view, offsets=[0], shape=[ROWS])

    def put(self, pointer, value, dtype):
        view = self.global_view(pointer, dtype=dtype, shape=[ROWS])
        self.store_global(view, value, offsets=[0])


def test_sequences_of_every_type_compute_the_same_in_a_loop() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(ROWS).astype(np.float32) * 4
    h = rng.standard_normal(ROWS).astype(np.float16)
    mask = rng.random(ROWS) < 0.5
    i = rng.integers(-(2**31), 2**31, ROWS).astype(np.int32)
    b = rng.standard_normal(ROWS).astype(np_bfloat16)
    results = []
    for run in (Mixed(), Mixed().check):
        y, z = np.zeros(ROWS, np.float32), np.zeros(ROWS, np_bfloat16)
        small = np.zeros(ROWS, np.int8)
        run(x, h, mask, i, b, y, z, small)
        results.append([y.tobytes(), z.tobytes(), small.tobytes()])
    assert results[0] == results[1]
    wave = np.sin(x) + np.cos(h.astype(np.float32)) * np.float32(0.5)
    expected = np.where(mask & (wave < 1), wave + wave.sum(), wave)
    np.testing.assert_allclose(y, expected, rtol=2e-4, atol=2e-4)
    divisor = np.fmod(i, 7) + 9
    np.testing.assert_array_equal(small, np.fmod(np.trunc(i / divisor), 5))
    rolled = Mixed().compile(*[None] * 8).ir("offloaded")
    assert rolled.count("math.sin") == 2
    assert "vector<4xi8>" in rolled


class Random(tile.Script):
    def __init__(self, m=128, n=128):
        super().__init__()
        self.m, self.n = m, n

    def __call__(self, seed: uint32, x_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        view = self.global_view(x_ptr, dtype=float32, shape=[self.m, self.n])
        offsets = self.register_tensor(
            dtype=int32, shape=[self.m, self.n], init=lambda i, j: i * self.n + j
        )
        self.store_global(view, self.randn(seed, offsets), offsets=[0, 0])


class WarpgroupWave(tile.Script):
    """A multiplication by warpgroups, and a function of its sums that is long."""

    def __call__(self, k: int32, a_ptr: ~float16, b_ptr: ~float16, c_ptr: ~float16):
        self.attrs.blocks, self.attrs.warps = 1, 4
        self.assume(k % 64 == 0)
        ga = self.global_view(a_ptr, dtype=float16, shape=[128, k])
        gb = self.global_view(b_ptr, dtype=float16, shape=[k, 128])
        gc = self.global_view(c_ptr, dtype=float16, shape=[128, 128])
        sa = self.shared_tensor(dtype=float16, shape=[128, 64])
        sb = self.shared_tensor(dtype=float16, shape=[64, 128])
        acc = self.register_tensor(dtype=float32, shape=[128, 128], init=0.0)
        for at in range(0, k, 64):
            self.copy_async(ga, sa, offsets=[0, at])
            self.copy_async(gb, sb, offsets=[at, 0])
            self.copy_async_wait_all()
            self.sync()
            self.dot(self.load_shared(sa), self.load_shared(sb), acc, out=acc)
            self.sync()
        self.store_global(gc, self.cast(self.sin(acc), float16), offsets=[0, 0])


@needs_ptxas
@pytest.mark.parametrize(
    ("program", "arguments", "lines"), [(Random, 2, 4000), (WarpgroupWave, 4, 2500)]
)
def test_long_sequences_neither_spill_nor_repeat_their_code(
    program: Any, arguments: int, lines: int
) -> None:
    with NvgpuDevice(NvgpuOptions(arch="sm_90a")) as device, device_kept():
        tile.use_device(device)
        kernel = program().compile(64, *[None] * (arguments - 1))
        assert kernel.ptx.count("\n") < lines
        assert kernel.resources.spilled_bytes == 0
        assert "wgmma" in kernel.ptx or program is Random
