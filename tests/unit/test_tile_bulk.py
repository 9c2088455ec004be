# SPDX-License-Identifier: Apache-2.0
"""Bulk copies and wgmma: correct on the simulator and in the interpreter, which detects each
missing wait, fence and barrier."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.unit import tile_bulk, tile_handed
from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.tile_mutants import marked, with_line
from xtc import tile
from xtc.core.errors import DeviceFault, UserError
from xtc.interfaces.tile_support import TensorMap
from xtc.tile import bfloat16, float8_e4m3, float8_e5m2, float16, int8, tfloat32, uint8
from xtc.tile.interpreter.report import DeadlockError, RaceError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions
from xtc_targets.nvgpu.passes import map_tensors
from xtc_targets.nvgpu.passes._tiles import wgmma
from xtc_targets.nvgpu.tensor_maps import tensor_map

SOURCE = Path(tile_bulk.__file__)
RNG = np.random.default_rng(0)


def double(module: ModuleType, *tile_shape: int, m: int = 70, n: int = 72) -> Any:
    x = RNG.integers(-99, 99, (m, n)).astype(np.float16)
    y = np.zeros_like(x)
    return module.BulkDouble(*tile_shape), (m, n, x, y), y, 2 * x


_KINDS = {
    bfloat16: ml_dtypes.bfloat16,
    float8_e4m3: ml_dtypes.float8_e4m3fn,
    float8_e5m2: ml_dtypes.float8_e5m2,
    tfloat32: np.float32,
    int8: np.int8,
    uint8: np.uint8,
}


def matmul_case(module: ModuleType, m: int, n: int, k: int, **how: Any) -> Any:
    kind = _KINDS.get(how.get("dtype", float16), np.float16)
    low, high = (-128, 128) if kind is np.int8 else (0, 256) if kind is np.uint8 else (-4, 5)
    a, b = (RNG.integers(low, high, shape).astype(kind) for shape in ((m, k), (k, n)))
    total = np.float16 if how.get("total") is float16 else np.float32
    c = np.zeros((m, n), np.int32 if high > 5 else total)
    given_a = np.ascontiguousarray(a.T) if how.get("a_transposed") else a
    given_b = np.ascontiguousarray(b.T) if how.get("b_transposed") else b
    expected = a.astype(c.dtype) @ b.astype(c.dtype)
    return module.WgmmaMatmul(**how), (m, n, k, given_a, given_b, c), c, expected


def chained(module: ModuleType, m: int, k: int, n: int, **how: Any) -> Any:
    kind = ml_dtypes.bfloat16 if how.get("dtype") is bfloat16 else np.float16
    a, b, c = (RNG.integers(-1, 2, shape).astype(kind) for shape in ((m, k), (k, k), (k, n)))
    d = np.zeros((m, n), np.float16 if how.get("total") is float16 else np.float32)
    given = np.ascontiguousarray(c.T) if how.get("transposed") else c
    wide = [each.astype(np.float32) for each in (a, b, c)]
    program = module.FromRegisters(**how)
    return program, (m, k, n, a, b, given, d), d, wide[0] @ wide[1] @ wide[2]


def agrees(case: Any) -> None:
    program, arguments, found, expected = case
    program(*arguments)
    np.testing.assert_array_equal(found, expected)
    found[...] = 0
    program.check(*arguments)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(64, 128), (32, 32), (64, 16), (8, 8)])
def test_bulk_copies_of_ragged_tensors(shape: tuple[int, int]) -> None:
    """Panels, swizzles of 64 and 32 bytes, and rows of 16 bytes without a swizzle."""
    agrees(double(tile_bulk, *shape))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ((64, 64, 64), {}),
        ((64, 32, 16), {"b_transposed": True}),
        ((128, 128, 32), {"dtype": bfloat16, "warps": 8, "b_transposed": True}),
        ((128, 64, 128), {"a_transposed": True}),
        ((64, 256, 64), {"a_transposed": True, "b_transposed": True}),
        ((128, 64, 64), {"dtype": float8_e4m3, "b_transposed": True}),
        ((64, 32, 256), {"dtype": float8_e5m2, "b_transposed": True}),
        ((128, 64, 64), {"dtype": tfloat32, "b_transposed": True}),
        ((64, 16, 8), {"dtype": tfloat32, "b_transposed": True}),
        ((128, 64, 512), {"dtype": int8, "b_transposed": True}),
        ((64, 8, 384), {"dtype": uint8, "b_transposed": True}),
        ((128, 136, 64), {"total": float16, "b_transposed": True}),
        ((64, 320, 16), {}),
        ((64, 40, 64), {"dtype": int8, "b_transposed": True}),
        ((64, 24, 64), {"dtype": float8_e5m2, "total": float16, "b_transposed": True}),
        ((128, 64, 64), {"registers": True, "a_transposed": True}),
        ((128, 64, 64), {"registers": True, "dtype": float8_e4m3, "b_transposed": True}),
        ((64, 32, 128), {"registers": True, "dtype": float8_e5m2, "b_transposed": True}),
        ((128, 64, 64), {"registers": True, "dtype": tfloat32, "b_transposed": True, "warps": 8}),
        ((64, 64, 256), {"registers": True, "dtype": int8, "b_transposed": True}),
        ((128, 40, 64), {"registers": True, "dtype": uint8, "b_transposed": True}),
    ],
)
def test_multiplications_of_warpgroups(shape: tuple[int, int, int], how: Any) -> None:
    agrees(matmul_case(tile_bulk, *shape, **how))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "how", "message"),
    [
        ((64, 320, 16), {}, "reads 128 bytes from byte 64 of rows of 128 bytes"),
        (
            (64, 40, 64),
            {"registers": True, "dtype": uint8, "b_transposed": True},
            "integers of 40 columns",
        ),
    ],
)
def test_unsupported_numbers_of_columns_are_a_fault(
    shape: tuple[int, int, int], how: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wgmma, "columns_at_once", lambda n, *_: n if n < 256 else n // 2)
    program, arguments, *_ = matmul_case(tile_bulk, *shape, **how)
    with pytest.raises(DeviceFault, match=message):
        program(*arguments)


@pytest.mark.slow
def test_float16_accumulators_are_rounded_by_each_instruction() -> None:
    program, (m, n, k, a, b, c), *_ = matmul_case(tile_bulk, 64, 16, 64, total=float16)
    a[...], b[...] = 1, 0
    b[0], b[16], b[32] = 2048, 1, 1  # 2049 is not a float16: each 1 is lost, whereas 2 is not
    for run in (program.check, program):
        c[...] = 0
        run(m, n, k, a, b, c)
        assert (c == 2048).all()


def handed_over(module: ModuleType) -> Any:
    a, b = (RNG.integers(-3, 4, (rows, 136)).astype(np.float16) for rows in (192, 32))
    c = np.zeros((192, 32), np.float16)
    return module.Handed(), (136, a, b, c), c, a.astype(np.float32) @ b.astype(np.float32).T


@pytest.mark.slow
def test_warpgroups_pass_results_to_a_warp_for_bulk_stores() -> None:
    """More thread groups and barriers than the initial clocks cover; one thread releases the data
    that its warpgroup has read, and the reader fences the stores of others."""
    agrees(handed_over(tile_handed))


@pytest.mark.slow
def test_a_branch_of_run_time_may_multiply() -> None:
    k = 150
    flags = np.array([1, 0, 1, 0, 1], np.int32)
    a, b = (RNG.integers(-4, 5, shape).astype(np.float16) for shape in ((64, k), (k, 64)))
    c = np.zeros((64, 64), np.float32)
    kept = np.repeat(flags, 32)[:k].astype(np.float32)
    expected = (a.astype(np.float32) * kept) @ b.astype(np.float32)
    agrees((tile_bulk.Skipping(), (k, flags, a, b, c), c, expected))


def test_one_thread_may_wait_for_all() -> None:
    x = RNG.integers(-99, 99, (40, 64)).astype(np.float16)
    y = np.zeros_like(x)
    agrees((tile_handed.OneWaits(), (40, x, y), y, 2 * x))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mark", "kind"),
    [("shown", "missing proxy fence"), ("multiplied", ""), ("stored", "")],
)
def test_missing_synchronization_between_groups_is_detected(
    mark: str, kind: str, tmp_path: Path
) -> None:
    source = Path(tile_handed.__file__)
    program, arguments, *_ = handed_over(with_line(source, marked(source, mark), tmp_path))
    with pytest.raises(RaceError) as caught:
        program.check(*arguments)
    assert not kind or caught.value.kind == kind


@pytest.mark.slow
def test_tf32_multiplies_the_upper_bits() -> None:
    """1 + 2^-10 is the next TF32 number after 1; numbers in between are read as 1."""
    program, (m, n, k, a, b, c), *_ = matmul_case(
        tile_bulk, 64, 16, 8, dtype=tfloat32, b_transposed=True
    )
    a[...], b[...] = 1 + 2**-10 + 2**-11, np.eye(16, 8)
    for run in (program.check, program):
        c[...] = 0
        run(m, n, k, a, b, c)
        assert (c == np.where(np.arange(16) < 8, np.float32(1 + 2**-10), 0)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ((64, 64, 64), {}),
        ((128, 32, 128), {"transposed": True, "dtype": bfloat16}),
        ((64, 64, 32), {"total": float16}),
    ],
)
def test_multiplications_from_registers(shape: tuple[int, int, int], how: Any) -> None:
    """The accumulators of a warpgroup, after a cast, are fragments of its next operand without data
    movement."""
    case = chained(tile_bulk, *shape, **how)
    agrees(case)
    assert "convert_layout" not in case[0].compile(*case[1]).ir("scheduled")


@pytest.mark.slow
@needs_ptxas
def test_the_expected_instructions_are_generated() -> None:
    device = NvgpuDevice(NvgpuOptions(arch="sm_90a"))
    kernels = []
    cases = (
        double(tile_bulk),
        matmul_case(tile_bulk, 64, 128, 64, dtype=float16),
        matmul_case(tile_bulk, 64, 128, 64, dtype=float8_e4m3, b_transposed=True),
        matmul_case(tile_bulk, 64, 128, 64, dtype=tfloat32, b_transposed=True),
        matmul_case(tile_bulk, 64, 128, 64, dtype=int8, b_transposed=True),
        matmul_case(tile_bulk, 64, 128, 64, total=float16),
        chained(tile_bulk, 64, 64, 32),
        chained(tile_bulk, 64, 64, 32, total=float16),
    )
    for case in cases:
        program, arguments, *_ = case
        kernels.append(program._pick(program._bound(arguments, {}), device))
    for kernel in kernels:
        needs = kernel.resources
        assert (needs.spilled_bytes, needs.local_bytes, needs.warnings) == (0, 0, ())
    copies, multiplies, small, tf32, integers, half, chain, half_chain = (
        kernel.sass for kernel in kernels
    )
    assert copies.count("UTMALDG.2D") == 2  # one for each panel of 64 elements
    assert copies.count("UTMASTG.2D") == 2
    assert multiplies.count("HGMMA.64x128x16.F32") == 4
    assert small.count("QGMMA.64x128x32.F32.E4M3.E4M3") == 2
    assert tf32.count("HGMMA.64x128x8.F32.TF32") == 8
    assert integers.count("IGMMA.64x128x32.S8.S8") == 2
    assert half.count("HGMMA.64x128x16.F16") == 4
    assert len(re.findall(r"HGMMA.64x32x16.F16 R\d+, R\d+, gdesc", half_chain)) == 4
    from_registers = re.findall(r"HGMMA.64x32x16.F32 R\d+, R\d+, gdesc", chain)
    assert len(from_registers) == 4


@pytest.mark.slow
@needs_ptxas
@pytest.mark.parametrize(
    ("dtype", "instruction", "count"),
    [
        (float8_e4m3, "QGMMA.64x64x32.F32.E4M3.E4M3", 4),
        (float8_e5m2, "QGMMA.64x64x32.F32.E5M2.E5M2", 4),
        (tfloat32, "HGMMA.64x64x8.F32.TF32", 16),
        (int8, "IGMMA.64x64x32.S8.S8", 4),
        (uint8, "IGMMA.64x64x32.U8.U8", 4),
    ],
)
def test_the_first_operand_is_in_registers(dtype: Any, instruction: str, count: int) -> None:
    """Twice 64 rows, and 64 elements of K."""
    program, arguments, *_ = matmul_case(
        tile_bulk, 128, 64, 64, dtype=dtype, b_transposed=True, registers=True
    )
    kernel = program._pick(program._bound(arguments, {}), NvgpuDevice(NvgpuOptions(arch="sm_90a")))
    needs = kernel.resources
    assert (needs.spilled_bytes, needs.local_bytes, needs.warnings) == (0, 0, ())
    found = re.findall(re.escape(instruction) + r" R\d+, R\d+, gdesc", kernel.sass)
    assert len(found) == count


MUTATIONS = [
    ("copy", "expect", DeadlockError, ""),
    ("copy", "wait", RaceError, "read before wait"),
    ("copy", "fence", RaceError, "missing proxy fence"),
    ("copy", "sync", RaceError, ""),
    ("copy", "commit", RaceError, "unfinished copy"),
    ("copy", "stored", RaceError, "unfinished copy"),
    ("product", "shown", RaceError, "missing proxy fence"),
    ("product", "met", RaceError, "missing sync"),
    ("product", "ordered", RaceError, "missing wgmma fence"),
    ("product", "committed", RaceError, "read before wait"),
    ("product", "multiplied", RaceError, "read before wait"),
    ("chain", "registers", RaceError, "missing wgmma fence"),
    ("chain", "second", RaceError, "read before wait"),
]


def mutant(what: str, mark: str, folder: Path) -> Any:
    module = with_line(SOURCE, marked(SOURCE, mark), folder)
    if what == "chain":
        return chained(module, 64, 64, 64)
    return double(module) if what == "copy" else matmul_case(module, 64, 64, 64)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "mark", "error", "kind"), MUTATIONS)
def test_missing_synchronization_is_detected(
    what: str, mark: str, error: Any, kind: str, tmp_path: Path
) -> None:
    program, arguments, *_ = mutant(what, mark, tmp_path)
    with pytest.raises(error) as caught:
        program.check(*arguments)
    assert "mutant_tile_bulk" in str(caught.value)
    assert getattr(caught.value, "kind", "") == kind or not kind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "mark"),
    [("copy", mark) for mark in ("expect", "fence", "commit", "stored")] + [("product", "shown")],
)
def test_the_simulator_faults(what: str, mark: str, tmp_path: Path) -> None:
    """Except without `ordered`, `committed` and `multiplied`, because it multiplies immediately."""
    program, arguments, *_ = mutant(what, mark, tmp_path)
    with NvgpuDevice() as device:
        tile.use_device(device)
        try:
            with pytest.raises(DeviceFault):
                program(*arguments)
        finally:
            tile.use_device(None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("OddRows", "tma_load: rows of a shared tensor have 96 bytes"),
        ("OddStride", "a bulk copy of a tensor with a stride of 66 bytes"),
        ("OddMatmul", r"wgmma.mma of \[32, 32\] and \[32, 32\]"),
        ("TwoWarps", "wgmma.mma of 64 rows by 64 threads"),
    ],
)
def test_invalid_kernels_are_refused(name: str, text: str) -> None:
    with pytest.raises(UserError, match=text):
        getattr(tile_bulk, name)()(np.zeros((16, 33), np.float16))


@pytest.mark.slow
def test_small_floats_are_multiplied_along_contiguous_memory() -> None:
    program, arguments, *_ = matmul_case(tile_bulk, 64, 64, 64, dtype=float8_e4m3)
    with pytest.raises(UserError, match="k is not contiguous in operand b") as caught:
        program(*arguments)
    assert "tile_bulk.py" in str(caught.value)


def test_an_older_machine_has_no_bulk_copies() -> None:
    program, arguments, *_ = double(tile_bulk)
    device = NvgpuDevice(NvgpuOptions(arch="sm_80"))
    with pytest.raises(UserError, match="mbarrier_alloc is an instruction of sm_90a"):
        _ = program._pick(program._bound(arguments, {}), device).ptx


def test_bulk_loads_follow_earlier_accesses_of_threads() -> None:
    program, *_ = double(tile_bulk)
    ptx = program.compile(70, 72, None, None).ptx
    before, *others = ptx.split("shared::cluster.global.tile.mbarrier")
    assert others
    assert "fence.proxy.async.shared::cta" in before  # the kernel's own fence follows the load


@pytest.mark.parametrize(
    ("address", "stride", "message"),
    [(8, 128, "is not a multiple of 16 bytes"), (16, 1 << 40, "with a stride of 1099511627776")],
)
def test_tensor_maps_require_suitable_memory(address: int, stride: int, message: str) -> None:
    wrong = TensorMap(address, "f16", 2, (4, 64), (stride, 2), (4, 64), 128)
    with pytest.raises(UserError, match=message):
        tensor_map(wrong, NvgpuOptions())


def test_tensor_maps_have_up_to_two_billion_elements_per_dimension() -> None:
    """The limit in cuda.h of CUDA 13.5; earlier versions allowed twice as many."""
    for size in (1 << 31, (1 << 31) + 1):
        wide = TensorMap(16, "f16", 2, (size, 64), (128, 2), (4, 64), 128)
        if size == 1 << 31:
            assert len(tensor_map(wide, NvgpuOptions())) == 128
            continue
        with pytest.raises(UserError, match="with a dimension of 2147483649"):
            tensor_map(wide, NvgpuOptions())


@pytest.mark.slow
def test_a_box_refused_by_the_driver_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_tensors, "_MOST_ROWS", 512)
    program, arguments, *_ = double(tile_bulk, 512, 8)
    with pytest.raises(DeviceFault, match="a bulk load: 512 of 70 elements in dimension 1"):
        program(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [float16, float8_e4m3])
def test_wgmma_is_counted_and_modelled(dtype: Any) -> None:
    program, arguments, *_ = matmul_case(tile_bulk, 64, 32, 64, dtype=dtype, b_transposed=True)
    with NvgpuDevice(NvgpuOptions(arch="sm_90a")) as device:
        tile.use_device(device)
        try:
            program(*arguments)
        finally:
            tile.use_device(None)
        counters = device.counters()
    name, peak = ("F16", "float16") if dtype is float16 else ("E4M3", "int8")
    assert counters[f"nvgpu.WGMMA_{name}_MACS"] == 64 * 32 * 64
    seconds = 64 * 32 * 64 / device.machine.peak_macs_per_second(peak)
    assert counters["modelled.nvgpu.TENSOR_SECONDS"] == pytest.approx(seconds)
