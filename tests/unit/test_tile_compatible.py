# SPDX-License-Identifier: Apache-2.0
"""Names and array types used by kernels written for other languages."""

from __future__ import annotations

import math
import unittest
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.unit import tile_compatible
from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.tile_kernels import VectorAdd
from xtc import tile
from xtc.core import knobs
from xtc.core.errors import DeviceFault, UserError
from xtc.tile.launch.foreign import over
from xtc.tile.values.errors import KernelError


@pytest.mark.slow
def test_a_warp_starts_a_bulk_copy_once() -> None:
    x = np.random.default_rng(0).random((40, 64)).astype(np.float16)
    program = tile_compatible.Elected()
    for run in (program.check, program):
        y = np.zeros_like(x)
        run(40, x, y)
        np.testing.assert_array_equal(y, x)


@pytest.mark.slow
def test_a_pipeline_prints_its_waits(capsys: pytest.CaptureFixture[str]) -> None:
    tile_compatible.Traced()()
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("thread 0:")] == [
        "thread 0: producer waits for slot 0",
        "thread 0: producer has slot 0",
    ]
    assert lines.index("thread 32: consumer has slot 0") > lines.index(
        "thread 0: producer has slot 0"
    )


@pytest.mark.slow
def test_normal_numbers_have_mean_0_and_variance_1() -> None:
    program = tile_compatible.Normal()
    drawn = []
    for run in (program.check, program):
        y, z = np.zeros((5, 1024), np.float32), np.zeros((2, 8), np.int32)
        run(7, y, z)
        assert abs(y.mean()) < 0.05
        assert abs(y.var() - 1) < 0.1
        np.testing.assert_array_equal(y[0], y[1])
        assert abs(np.corrcoef(y[1:]) - np.eye(4)).max() < 0.1
        np.testing.assert_array_equal(z, np.tile(np.arange(4), (2, 2)))
        drawn.append(y)
    np.testing.assert_allclose(drawn[0], drawn[1], rtol=1e-5, atol=1e-5)


def uniform(bits: np.ndarray) -> Any:
    """Random bits as numbers in [0, 1), as Tilus and Triton compute them."""
    signed = bits.view(np.int32)
    folded = np.where(signed < 0, ~signed, signed).astype(np.float32)
    return np.multiply(folded, np.float32(4.6566127342e-10))


@pytest.mark.slow
def test_normal_numbers_are_those_of_tilus() -> None:
    bits, y = np.zeros((2, 256), np.uint32), np.zeros(256, np.float32)
    tile_compatible.Drawn()(1 << 40 | 5, bits, y)
    a, b = uniform(bits[0]), uniform(bits[1])
    expected = np.sqrt(-2 * np.log(np.maximum(a, 1e-7))) * np.cos(2 * np.pi * b)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_tensors_in_host_memory_are_written_in_place() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, y = torch.arange(100.0), torch.ones(100)
    z = torch.zeros(100)
    VectorAdd(128)(100, x, y, z)
    assert torch.equal(z, x + 1)
    for dtype, numpy in (
        (torch.bfloat16, ml_dtypes.bfloat16),
        (torch.float8_e4m3fn, ml_dtypes.float8_e4m3fn),
    ):
        tensor = torch.arange(4.0).to(dtype)
        array = over(tensor)
        assert (array.dtype, array.tolist()) == (numpy, [0, 1, 2, 3])
        array[0] = 2
        assert tensor[0] == 2


def test_layouts_in_steps() -> None:
    local, spatial = tile.layout.local, tile.layout.spatial
    assert local(2).spatial(32).local(4) == local(2) * spatial(32) * local(4)
    assert local(2).column_spatial(3).column_local(2).size == 12
    ranked = spatial(1, 2, 4, ranks=[0, 2, 1])
    assert [ranked.thread_offset(n) for n in (0, 1, 2)] == [(0, 0, 0), (0, 1, 0), (0, 0, 1)]
    with pytest.raises(UserError, match="ranks"):
        spatial(2, 2, ranks=[0, 0])


def test_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(knobs.CACHE_DIR.name, "elsewhere")
    tile.option.cache_dir(tmp_path)
    assert tile.option.get_option("cache_dir") == tmp_path
    with pytest.raises(UserError, match="no option 'cachedir'"):
        tile.option.get_option("cachedir")
    with pytest.raises(UserError, match="not supported"):
        tile.option.debug.disable_ptxas_opt()


def test_target_markers_name_the_machine() -> None:
    ran = []
    for mark in ("nvgpu_sm80", "nvgpu_sm90", "nvgpu_sm100a"):
        test = getattr(tile.testing.requires, mark)(lambda mark=mark: ran.append(mark))
        try:
            test()
        except unittest.SkipTest as skipped:
            assert "nvgpu_sm100a" in str(skipped)  # noqa: PT017
    assert ran == ["nvgpu_sm80", "nvgpu_sm90"]
    with pytest.raises(AttributeError):
        _ = tile.testing.requires.sm80


def test_types_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for dtype in (tile.float16, tile.bfloat16, tile.float8_e4m3, tile.boolean, tile.int32):
        assert tile.utils.dtype_from_torch(tile.utils.dtype_to_torch(dtype)) == dtype
    with pytest.raises(UserError, match="no type"):
        tile.utils.dtype_to_torch(tile.int4b)
    with pytest.raises(UserError, match="no type"):
        tile.utils.dtype_from_torch(torch.complex64)


@pytest.mark.slow
def test_functions_are_as_exact_as_cudas() -> None:
    """Within 2 ULP ("CUDA C++ Programming Guide", mathematical functions), including the largest
    angles."""
    random = np.random.default_rng(0)
    x = (random.standard_normal(128) * np.logspace(-3, 6, 128)).astype(np.float32)
    x[:4] = 0, 1e5, 3e38, np.inf
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = np.stack(
            [
                *(np.sin(wide), np.cos(wide), np.tanh(wide), np.vectorize(math.erf)(wide)),
                *(np.floor(wide), np.ceil(wide), np.log2(abs(wide)), np.minimum(wide, -wide)),
                wide == 0,
            ]
        )
    program = tile_compatible.Functions()
    for run in (program.check, program):
        y = np.zeros(expected.shape, np.float32)
        run(len(x), x, y)
        np.testing.assert_array_max_ulp(y, expected.astype(np.float32), 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype", [tile.float16, tile.bfloat16, tile.float32, tile.float64], ids=str
)
def test_functions_have_the_same_bits_in_interpreter_and_simulator(dtype: tile.DataType) -> None:
    """For arbitrary bits, including subnormal numbers, infinities and NaN."""
    count, width = 1024, dtype.bits
    bits = np.random.default_rng(0).integers(0, 1 << width, (2, count), np.uint64, endpoint=False)
    x = bits.astype(f"u{width // 8}").view(dtype.numpy)
    x[:, : count // 2] = np.random.default_rng(1).standard_normal((2, count // 2))
    program = tile_compatible.EveryFunction(dtype)
    found = []
    for run in (program.check, program):
        y = np.zeros((15, count), dtype.numpy)
        run(count, x, y)
        is_none = np.isnan(y.astype(np.float64))
        found.append(np.where(is_none, 0, y.view(f"u{width // 8}")) + is_none)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [tile.float16, tile.float32, tile.float64], ids=str)
def test_python_functions_accept_run_time_numbers(dtype: tile.DataType) -> None:
    x, y = float(dtype.numpy.type(-0.6)), 1.75
    for a in (x, -x):
        expected = [_of_python(name, a) for name in tile_compatible.PythonFunctions.OF_ONE]
        expected += [_of_python(name, a, y) for name in tile_compatible.PythonFunctions.OF_TWO]
        expected += [math.acosh(y), 1]
        program = tile_compatible.PythonFunctions(dtype)
        found = []
        for run in (program.check, program):
            z = np.zeros(25, dtype.numpy)
            run(a, y, z)
            found.append(z)
        precision = float(
            np.finfo(np.float32).eps if dtype == tile.float64 else np.finfo(z.dtype).eps
        )
        np.testing.assert_allclose(found[0], expected, rtol=2 * precision)
        np.testing.assert_array_equal(found[0], found[1])


def _of_python(name: str, *arguments: float) -> float:
    try:
        return float(getattr(math, name)(*arguments))
    except ValueError:
        return math.nan


@pytest.mark.slow
def test_run_time_numbers_may_be_narrow() -> None:
    program = tile_compatible.NarrowNumbers()
    for run in (program.check, program):
        y = np.zeros(6, np.float32)
        run(0.1, 0.1, -128, 65535, True, y)
        expected = [np.float16(0.1), ml_dtypes.bfloat16(0.1), -128, 65535, 1, 0]
        np.testing.assert_array_equal(y, np.array(expected, np.float32))
    for wrong in ((0.1, 0.1, 128, 0, True), (0.1, 0.1, 0, -1, True), (0.1, 0.1, 0, 0, 2)):
        with pytest.raises(UserError, match="does not fit in"):
            program(*wrong, y)


def _integer(value: float, least: int, most: int) -> int:
    """A float truncated and saturated to the limits; 0 for NaN."""
    if math.isnan(value):
        return 0
    return most if value > most else least if value < least else int(value)


def _wrapped(value: int, bits: int, signed: bool = True) -> int:
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if signed and low >> (bits - 1) else low


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [tile.float16, tile.bfloat16, tile.f32, tile.f64], ids=str)
def test_float_casts_saturate_and_integer_casts_wrap(dtype: tile.DataType) -> None:
    """Like conversions of a GPU, which converts to integers of fewer than 32 bits through int32."""
    count = 256
    random = np.random.default_rng(0)
    wide = random.standard_normal(count) * 10.0 ** random.integers(-1, 22, count)
    special = [0.0, -0.9, 127.5, -129, 2**31, -(2**31), 2**32, 2**63, -(2**63), 2**64]
    wide[:13] = [*special, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        x = wide.astype(dtype.numpy)
    expected = []
    for kind in tile_compatible.Chained.TYPES:
        direct = []
        for value in map(float, x):
            bits = max(kind.bits, 32)
            signed = kind.signed or kind.bits < 32
            least, most = (
                (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, 2**bits - 1)
            )
            direct.append(_wrapped(_integer(value, least, most), kind.bits, kind.signed))
        expected.append([_wrapped(number, 64) for number in direct])
        expected.append([_wrapped(number, 8) for number in direct])
    program = tile_compatible.Chained(dtype)
    for run in (program.check, program):
        y = np.zeros((14, count), np.int64)
        run(count, x, y)
        np.testing.assert_array_equal(y, expected)
    tensor = tile.Tensor(dtype, [count], x)
    for row, kind in enumerate(tile_compatible.Chained.TYPES):
        found = tensor.to(kind).values().astype(np.int64)
        np.testing.assert_array_equal(found, expected[2 * row])


@pytest.mark.slow
@needs_ptxas
def test_functions_need_no_local_memory() -> None:
    needs = tile_compatible.Functions().compile(128, None, None).resources
    assert (needs.spilled_bytes, needs.local_bytes, needs.warnings) == (0, 0, ())


@pytest.mark.parametrize("dtype", [tile.float32, tile.float16, tile.uint8])
@pytest.mark.parametrize("is_constant", [True, False])
def test_untyped_pointers_count_bytes(dtype: tile.DataType, is_constant: bool) -> None:
    x = np.arange(32).astype(dtype.numpy)
    program = tile_compatible.AtByte(dtype, 8 if is_constant else None)
    first = 8 // x.itemsize
    for run in (program.check, program):
        y = np.zeros(5, np.float32)
        run(8, x.view(np.uint8), y)
        np.testing.assert_array_equal(y, [*x[first : first + 4], x[first + 1]])


def test_a_view_begins_with_a_whole_element() -> None:
    arguments = (6, np.zeros(64, np.uint8), np.zeros(5, np.float32))
    with pytest.raises(KernelError, match="elements of float32 at byte 6") as caught:
        tile_compatible.AtByte(tile.float32, 6).check(*arguments)
    assert "add a multiple of 4" in str(caught.value)
    program = tile_compatible.AtByte(tile.float32)
    for run in (program.check, program):
        with pytest.raises((KernelError, DeviceFault), match="begins within an element"):
            run(*arguments)


def test_parameters_may_be_numbers_of_numpy() -> None:
    x = np.arange(100, dtype=np.float32)
    program = tile_compatible.Scaled(np.int64(64), np.float32(0.5))
    for run in (program.check, program):
        y = np.zeros_like(x)
        run(np.int32(100), x, y)
        np.testing.assert_array_equal(y, [*(x[:98] / 2), 14, 2])
