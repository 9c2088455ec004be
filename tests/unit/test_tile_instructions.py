# SPDX-License-Identifier: Apache-2.0
"""Narrow types, atomics, scans, semaphores, printing: simulator and interpreter against NumPy."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.tile_instructions import (
    BrainFunctions,
    Debugged,
    Elements,
    Histogram,
    Narrow,
    Ordered,
    Ordering,
    Packed,
    Philox,
    Prints,
    Scans,
    ScatteredOutside,
    Tickets,
    Unpacked,
)
from xtc import tile
from xtc.core.errors import UserError
from xtc.tile.interpreter.report import DeadlockError, RaceError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

_OTHER_FLOATS = {
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float6_e3m2": ml_dtypes.float6_e3m2fn,
    "float6_e2m3": ml_dtypes.float6_e2m3fn,
    "float4_e2m1": ml_dtypes.float4_e2m1fn,
}


def codes_of(packed: np.ndarray, bits: int) -> np.ndarray:
    """The codes in bytes, the first one in the lowest bits."""
    flat = np.unpackbits(packed, axis=-1, bitorder="little")
    return (flat.reshape(len(packed), -1, bits) << np.arange(bits)).sum(-1)


def values_of(codes: np.ndarray, dtype: Any) -> np.ndarray:
    """The values of a type's codes."""
    if dtype.is_float():
        kind = _OTHER_FLOATS[dtype.name]
        return codes.astype(np.uint8).view(kind).astype(np.float32)
    negative = dtype.signed & (codes >> (dtype.bits - 1) > 0)
    return np.where(negative, codes - (1 << dtype.bits), codes).astype(np.float32)


@pytest.mark.parametrize("name", ["uint1b", "int3b", "int4b", "uint7b", *_OTHER_FLOATS])
def test_narrow_types_are_stored_packed_and_cast(name: str) -> None:
    dtype, (m, n) = getattr(tile, name), (21, 32)
    x = np.random.default_rng(1).integers(0, 256, (m, n * dtype.bits // 8)).astype(np.uint8)
    expected = values_of(codes_of(x, dtype.bits), dtype)
    program = Narrow(dtype)
    for run in (program, program.check):
        y, z = np.zeros((m, n), np.float32), np.zeros_like(x)
        run(m, n, x, y, z)
        np.testing.assert_array_equal(y, expected)
        finite = np.isfinite(expected)
        again = codes_of(z, dtype.bits)
        np.testing.assert_array_equal(again[finite], codes_of(x, dtype.bits)[finite])


@pytest.mark.parametrize("name", _OTHER_FLOATS)
def test_casts_to_small_floats_round_to_even_and_saturate(name: str) -> None:
    dtype = getattr(tile, name)
    rng = np.random.default_rng(2)
    x = (rng.standard_normal(4096) * 2.0 ** rng.integers(-18, 12, 4096)).astype(np.float32)
    limited = np.clip(x, -dtype.greatest, dtype.greatest)
    expected = limited.astype(_OTHER_FLOATS[name]).astype(np.float32)

    class Rounds(tile.Script):
        def __call__(self, a: ~tile.float32, b: ~tile.float32) -> None:
            self.attrs.blocks = 1
            self.attrs.warps = 4
            ga = self.global_view(a, dtype=tile.float32, shape=[4096])
            gb = self.global_view(b, dtype=tile.float32, shape=[4096])
            r = self.cast(self.load_global(ga, offsets=[0], shape=[4096]), dtype)
            self.store_global(gb, self.cast(r, tile.float32), offsets=[0])

    y = np.zeros_like(x)
    Rounds()(x, y)
    np.testing.assert_array_equal(y, expected)


def test_atomics_scatters_and_running_sums() -> None:
    x = np.random.default_rng(3).integers(0, 8, (3, 96)).astype(np.int32)
    program = Histogram()
    for run in (program, program.check):
        counts, sums = np.zeros((2, 8), np.int32), np.zeros_like(x)
        turned = np.zeros_like(x)
        run(x, counts, sums, turned)
        np.testing.assert_array_equal(counts, [np.bincount(x.ravel(), minlength=8)] * 2)
        np.testing.assert_array_equal(sums, np.cumsum(x, 1) - x)
        np.testing.assert_array_equal(turned, x[:, ::-1])


@pytest.mark.parametrize("n", [3, 4, 6])
def test_a_scattered_store_drops_elements_outside(n: int) -> None:
    program = ScatteredOutside()
    for run in (program, program.check):
        x = np.full(n, -1, np.int32)
        run(n, x)
        np.testing.assert_array_equal(x, [*[-1] * min(n, 4), *range(n - 4)])


def test_atomics_return_distinct_values() -> None:
    program = Tickets()
    for run in (program, program.check):
        counter, drawn = np.zeros(1, np.int32), np.zeros((2, 24), np.int32)
        run(counter, drawn)
        assert counter[0] == 48
        np.testing.assert_array_equal(np.sort(drawn.ravel()), np.arange(48))


@pytest.mark.parametrize(
    ("op", "dim", "exclusive", "function"),
    [
        ("add", 1, False, np.add),
        ("max", 0, False, np.maximum),
        ("xor", 1, True, np.bitwise_xor),
        ("min", 0, True, np.minimum),
    ],
)
def test_scans(op: str, dim: int, exclusive: bool, function: Any) -> None:
    x = np.random.default_rng(4).integers(-9, 9, (24, 40)).astype(np.int32)
    expected = function.accumulate(x, axis=dim)
    if exclusive:
        first = {"xor": 0, "min": np.iinfo(np.int32).max}[op]
        expected = np.roll(expected, 1, axis=dim)
        expected[(slice(None), 0) if dim else 0] = first
    program = Scans(op, dim, exclusive)
    for run in (program, program.check):
        y = np.zeros_like(x)
        run(x, y)
        np.testing.assert_array_equal(y, expected)


def ordered(n: int) -> tuple[list[Any], np.ndarray]:
    """The arguments of Ordered, and its expected result."""
    x = np.random.default_rng(5).standard_normal((n, 64)).astype(np.float32)
    y, expected = np.zeros(64, np.float32), np.zeros(64, np.float32)
    for row in x:
        expected = row * np.float32(2) + expected
    return [n, x, y], expected


@pytest.mark.parametrize(
    "options", [{}, {"sim_schedule": "shuffled", "seed": 3, "sim_races": True}]
)
def test_blocks_wait_for_each_other(options: dict[str, Any]) -> None:
    arguments, expected = ordered(9)
    with NvgpuDevice(NvgpuOptions(**options)) as device:
        tile.use_device(device)
        try:
            Ordered()(*arguments)
        finally:
            tile.use_device(None)
    np.testing.assert_array_equal(arguments[-1], expected)


def test_the_interpreter_orders_by_semaphores() -> None:
    arguments, expected = ordered(9)
    Ordered().check(*arguments)
    np.testing.assert_array_equal(arguments[-1], expected)


class NoLock(Ordered):
    def lock_semaphore(self, semaphore: Any, value: Any) -> None:
        """Nothing."""


class NoRelease(Ordered):
    def release_semaphore(self, semaphore: Any, value: Any) -> None:
        """Nothing."""


def test_a_missing_lock_is_a_race() -> None:
    arguments, _ = ordered(3)
    with pytest.raises(RaceError, match="another block of the launch has written"):
        NoLock().check(*arguments)


def test_a_missing_release_is_a_deadlock() -> None:
    arguments, _ = ordered(3)
    with pytest.raises(DeadlockError, match="waits for a semaphore to become 1; it is 0"):
        NoRelease().check(*arguments)


def test_single_elements() -> None:
    x = np.array([[0, 9, 5, 1], [1, 3, 7, 1]], np.int32)
    program = Elements()
    for run in (program, program.check):
        y = np.zeros((2, 8), np.int32)
        run(2, x, y)
        for row, (_, count, base, _) in enumerate(x):
            expected = [sum(i for i in range(count) if i % 8 == at) for at in range(8)]
            expected[7] = base - expected[1]
            expected[6] = 10 * (count // 3) + count % 3
            np.testing.assert_array_equal(y[row], expected)


def test_random_numbers_are_those_of_philox() -> None:
    program = Philox()
    for run in (program, program.check):
        bits, numbers = np.zeros((4, 64), np.uint32), np.zeros(64, np.float32)
        run(0, bits, numbers)
        # The published answer for counter 0 and key 0.
        assert [f"{word:08x}" for word in bits[:, 0]] == [
            *("6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8")
        ]
        signed = bits[0].view(np.int32)
        folded = np.where(signed < 0, ~signed, signed).astype(np.float32)
        np.testing.assert_array_equal(numbers, folded * np.float32(4.6566127342e-10))
        assert len(np.unique(bits)) == bits.size


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    program = Prints()
    for run in (program, program.check):
        run(7)
        assert capsys.readouterr().out == (
            "it has 7 of  1.50%\n"
            "r = float16[2, 3]\n 0.00  1.00  2.00\n 3.00  4.00  5.00\n"
            "boolean[2]\n0 1\n"
        )


def test_debug_block_prints_the_results_of_instructions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = Debugged()
    for run in (program, program.check):
        x = np.arange(6, dtype=np.int32)
        run(6, x)
        np.testing.assert_array_equal(x, 2 * np.arange(6) + 8192)
        assert capsys.readouterr().out == (
            "register_tensor: int32[64, 128], too large to print\n"
            "load_global: int32[4]\n    4     5     0     0\n"
            "store_shared: int32[4]\n    8    10     0     0\n"
            "load_shared: int32[4]\n    8    10     0     0\n"
            "store_global: int32[4]\n 8200  8202  8192  8192\n"
        )


def test_debug_block_needs_three_indices() -> None:
    class Wrong(Debugged):
        debug_block = (0, 0)  # type: ignore[assignment]

    with pytest.raises(UserError, match=r"Wrong.debug_block is \(0, 0\)"):
        Wrong()


@needs_ptxas
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_ptxas_accepts_each_instruction(arch: str) -> None:
    device = NvgpuDevice(NvgpuOptions(arch=arch))
    scans = [Scans("add", 1, False), Scans("add", 1, True), Scans("min", 0, True)]
    for program, count in ((Histogram(), 4), (Tickets(), 2), *((scan, 2) for scan in scans)):
        kernel = program._pick(program._bound([None] * count, {}, arrays=False), device)
        assert kernel.resources.spilled_bytes == 0
        assert kernel.resources.warnings == ()
    values = Ordered()._bound([3, None, None], {}, arrays=False)
    assert "ld.acquire.gpu" in Ordered()._pick(values, device).ptx


@pytest.mark.parametrize(
    ("sem", "order"), [("relaxed", "a"), ("acquire", "af"), ("release", "fa"), ("acq_rel", "faf")]
)
def test_atomics_order_surrounding_accesses(sem: str, order: str) -> None:
    found = re.findall(r"fence.acq_rel.gpu|atom.global.add", Ordering(sem).compile(None).ptx)
    assert "".join(each[0] for each in found) == order


def test_packed_types_begin_at_byte_boundaries() -> None:
    class Odd(tile.Script):
        def __call__(self, x: tile.void_p) -> None:
            self.attrs.blocks = 1
            self.attrs.warps = 1
            g = self.global_view(x, dtype=tile.int4b, shape=[64])
            self.load_global(g, offsets=[1], shape=[8])

    with pytest.raises(UserError, match="begins within a byte"):
        Odd().compile(None)


def test_views_regroup_the_bits_of_each_thread() -> None:
    x = np.random.default_rng(6).integers(0, 256, (32, 24)).astype(np.uint8)
    pack, unpack = Packed(), Unpacked()
    kept = []
    for way in (lambda program: program, lambda program: program.check):
        packed, back = np.zeros((2, 3, 128), np.uint8), np.zeros_like(x)
        way(pack)(32, 48, x, packed)
        way(unpack)(32, 48, packed, back)
        np.testing.assert_array_equal(back, x)
        kept.append(packed)
    np.testing.assert_array_equal(*kept)
    # Thread 0 holds columns 0 and 8 of rows 0, 1, 8 and 9, two codes in each of its 4 bytes.
    codes = codes_of(x[:16, :8], 4)
    held = [codes[row, column] for column in (0, 8) for row in (0, 1, 8, 9)]
    expected = [low + 16 * high for low, high in zip(held[::2], held[1::2], strict=True)]
    np.testing.assert_array_equal(kept[0][0, 0, :4], expected)


def test_a_view_needs_as_many_bits_in_each_thread() -> None:
    class Wrong(Packed):
        def __call__(self, x: tile.void_p) -> None:
            self.attrs.blocks = 1
            self.attrs.warps = 1
            g = self.global_view(x, dtype=tile.uint8, shape=[128])
            r = self.load_global(g, offsets=[0], shape=[128])
            self.annotate_layout(r, tile.layout.local(4) * tile.layout.spatial(32))
            self.view(r, dtype=tile.int4b, layout=tile.layout.spatial(16) * tile.layout.local(16))

    with pytest.raises(UserError, match="the layout is for 16 threads"):
        Wrong().compile(None).ir("scheduled")


def test_an_unchecked_copy_must_stay_inside() -> None:
    class Over(tile.Script):
        def __call__(self, n: tile.int32, x: ~tile.float32) -> None:
            self.attrs.blocks = 2
            self.attrs.warps = 1
            g = self.global_view(x, dtype=tile.float32, shape=[n])
            s = self.shared_tensor(dtype=tile.float32, shape=[32])
            self.copy_async(g, s, offsets=[32 * self.blockIdx.x], check_bounds=False)

    with pytest.raises(UserError, match="check_bounds=False reads outside of the global tensor"):
        Over().check(40, np.zeros(40, np.float32))


def test_functions_of_bfloat16() -> None:
    x = np.linspace(-6, 6, 50).astype(ml_dtypes.bfloat16)
    expected = np.exp(np.sqrt(np.round(np.abs(x.astype(np.float32)))))
    program = BrainFunctions()
    for run in (program, program.check):
        y = np.zeros_like(x)
        run(50, x, y)
        np.testing.assert_allclose(y.astype(np.float32), expected, rtol=0.02)
