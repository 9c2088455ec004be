# SPDX-License-Identifier: Apache-2.0
"""Loops of copies and dots of 8-bit and TF32 operands become pipelines if operands are contiguous
along K: correct, without spills; others get a note."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.unit import tile_pipelines
from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.tile_cases import Case, matmul
from xtc import tile
from xtc.tile import bfloat16, float16, float32, int8, int32, tfloat32, uint8
from xtc.tile.config import device_kept, use_device
from xtc_targets.nvgpu import NvgpuDevice

pytestmark = pytest.mark.slow
E4M3, E5M2 = tile.float8_e4m3, tile.float8_e5m2
COUNTERS = {E4M3: "E4M3", E5M2: "E5M2", int8: "S8", uint8: "U8", tfloat32: "TF32"}


def along_k(m: int, n: int, k: int, dtype: tile.DataType, **how: Any) -> Case:
    """c = a b^T."""
    tiles = how.pop("tiles", (64, 64, 128 // dtype.nbytes))
    return matmul(m, n, k, dtype=dtype, transposed="b", tiles=tiles, **how)


@pytest.mark.parametrize("dtype", COUNTERS, ids=str)
def test_warpgroups_multiply_operands_of_each_type(dtype: tile.DataType) -> None:
    """Ragged in all dimensions: 72 rows, 136 columns, and K that ends within a tile."""
    case = along_k(72, 136, 208, dtype, slots=2)
    with NvgpuDevice() as device, device_kept():
        use_device(device)
        case.agrees(case.program)
        counters = device.counters()
    steps = -(-208 * dtype.nbytes // 128) * 4  # of 32 bytes, of 2 x 3 tiles
    assert counters[f"nvgpu.WGMMA_{COUNTERS[dtype]}"] == 6 * steps
    assert not any(counters[name] for name in counters if name.startswith("nvgpu.MMA"))
    assert case.agrees(case.program.check).compiled.counts["wgmma"]
    assert case.program.compile(*case.arguments).notes == ()


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [(E4M3, float16), (E5M2, bfloat16), (int8, float32), (uint8, float16), (tfloat32, float16)],
    ids=str,
)
def test_results_are_stored_in_other_types(dtype: tile.DataType, stored: tile.DataType) -> None:
    case = along_k(72, 64, 208, dtype, stored=stored)
    case.agrees(case.program)
    case.agrees(case.program.check)
    assert case.program.compile(*case.arguments).is_divided


@pytest.mark.parametrize("dtype", [int8, uint8], ids=str)
def test_sums_of_integers_are_exact(dtype: tile.DataType) -> None:
    """Extreme operands, whose sums exceed the 24 bits of float32."""
    case = along_k(64, 64, 512, dtype)
    _, _, _, a, b, _ = case.arguments
    a[...], b[...] = np.iinfo(a.dtype).max, np.iinfo(b.dtype).min or np.iinfo(b.dtype).max
    a[0, 0] -= 1
    case.expected = a.astype(np.int32) @ b.T.astype(np.int32)
    case.agrees(case.program)
    case.agrees(case.program.check)


def test_copies_round_to_tf32() -> None:
    """To the nearest number of 10 bits, not toward zero as a warpgroup reads operands."""
    case = along_k(64, 64, 32, tfloat32)
    _, _, _, a, b, _ = case.arguments
    a[...] = np.where(np.arange(32) % 2, 1 + 1.5 * 2.0**-11, -1 - 0.5 * 2.0**-11)
    b[...] = 1 + 2.0**-11  # a tie
    case.expected[...] = 16 * (1 + 2.0**-10) * ((1 + 2.0**-10) - 1)
    case.agrees(case.program)
    case.agrees(case.program.check)


@pytest.mark.parametrize(
    ("dtype", "transposed", "operand"),
    [(E4M3, "", "b"), (int8, "", "b"), (uint8, "ab", "a"), (tfloat32, "ab", "a")],
    ids=str,
)
def test_operands_across_k_are_multiplied_by_warps(
    dtype: tile.DataType, transposed: str, operand: str
) -> None:
    case = matmul(64, 64, 64, dtype=dtype, transposed=transposed, tiles=(64, 64, 32))
    case.agrees(case.program)
    (note,) = case.program.compile(*case.arguments).notes
    along = {"a": "m", "b": "n"}[operand]
    assert note.endswith(
        f"no bulk copies and warpgroups: operand {operand} of {dtype} is contiguous along {along}, "
        "not along k: warpgroups transpose 16-bit operands only"
    )


class Mixed(tile.Script):
    """c = a b^T of two types of 8-bit floats."""

    def __call__(self, a_ptr: ~E4M3, b_ptr: ~E5M2, c_ptr: ~float32):
        self.attrs.blocks, self.attrs.warps = 1, 4
        ga = self.global_view(a_ptr, dtype=E4M3, shape=[64, 64])
        gb = self.global_view(b_ptr, dtype=E5M2, shape=[64, 64])
        gc = self.global_view(c_ptr, dtype=float32, shape=[64, 64])
        sa = self.shared_tensor(dtype=E4M3, shape=[64, 32])
        sb = self.shared_tensor(dtype=E5M2, shape=[64, 32])
        sums = self.register_tensor(dtype=float32, shape=[64, 64], init=0.0)
        for at in range(0, 64, 32):
            self.copy_async(ga, sa, offsets=[0, at])
            self.copy_async(gb, sb, offsets=[0, at])
            self.copy_async_wait_all()
            self.sync()
            self.dot(self.load_shared(sa), self.load_shared(sb.transpose()), sums, out=sums)
            self.sync()
        self.store_global(gc, sums, offsets=[0, 0])


def test_a_dot_of_two_types_is_multiplied_by_warps() -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, (64, 64)).astype(each.numpy) for each in (E4M3, E5M2))
    c, program = np.zeros((64, 64), np.float32), Mixed()
    program(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.T.astype(np.float32))
    (note,) = program.compile(a, b, c).notes
    assert note.endswith("a dot of float8_e4m3 and float8_e5m2 into f32")


def test_k_of_a_tile_is_a_multiple_of_32_bytes() -> None:
    case = along_k(64, 64, 64, int8, tiles=(64, 64, 16))
    (note,) = case.kernel().notes
    assert note.endswith("a dot of 64x16 and 16x64: warpgroups need multiples of 64, 32 and 8")


@needs_ptxas
@pytest.mark.parametrize(
    ("dtype", "instruction"),
    [
        (E4M3, "QGMMA.64x256x32.F32.E4M3.E4M3"),
        (int8, "IGMMA.64x256x32.S8.S8"),
        (tfloat32, "HGMMA.64x256x8.F32.TF32"),
    ],
    ids=str,
)
def test_nothing_spills(dtype: tile.DataType, instruction: str) -> None:
    """Four multiplications for each 128 bytes of K, as of 16-bit operands."""
    stored = float16 if dtype.is_float() else int32
    tiles = (128, 256, 128 // dtype.nbytes)
    program = tile_pipelines.Matmul(tiles, 1, dtype, "b", warps=8, stored=stored)
    sizes = (4096, 4096, 4096, None, None, None)
    kernel = Case(program, sizes, np.zeros(0), np.zeros(0)).kernel(arch="sm_90a")
    needs = kernel.resources
    assert (needs.spilled_bytes, needs.local_bytes, needs.warnings) == (0, 0, ())
    found = kernel.sass.count(instruction)
    assert found
    assert found % 4 == 0  # loops may be unrolled
    assert not re.search(r"\b[HI]MMA\.|\bFFMA\b", kernel.sass)
