# SPDX-License-Identifier: Apache-2.0
"""Loops of copies and dots become pipelines of bulk copies and warpgroups: correct, race-free,
without spills; other loops get a note."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from tests.unit import tile_pipelines
from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.tensor_core_contractions import with_sms
from tests.unit.tile_cases import Case, batched, matmul
from xtc.core.errors import UserError
from xtc.tile import bfloat16
from xtc.tile.config import device_kept, use_device
from xtc.tile.launch.compiled import Kernel
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow
CASES = {
    "one slot": lambda: matmul(72, 72, 104),
    "bfloat16": lambda: matmul(
        136, 136, 136, tiles=(128, 128, 64), slots=3, dtype=bfloat16, warps=8
    ),
    "transposed": lambda: matmul(72, 72, 104, slots=2, transposed="ab", tiles=(64, 64, 16)),
    "batched": batched,
}


@pytest.mark.parametrize("name", CASES)
def test_a_pipeline_computes_the_same(name: str) -> None:
    case = CASES[name]()
    case.agrees(case.program)
    report = case.agrees(case.program.check)
    assert report.counts["copy_async"]
    assert report.compiled.counts["wgmma"]
    assert case.program.compile(*case.arguments).notes == ()


def test_blocks_are_persistent() -> None:
    """Two blocks for each of 132 multiprocessors; bands of tiles, the last of them narrower."""
    case = matmul(64 * 18 + 8, 64 * 16, 64)
    kernel = case.kernel()
    values = case.program._bound(case.arguments, {})
    assert kernel.grid(values) == [264, 1, 1]
    assert kernel.undivided.grid(values) == [19, 16, 1]
    case.agrees(case.program)


@pytest.mark.parametrize("m", [256, 264])
def test_blocks_of_a_cluster_share_an_operand(monkeypatch: pytest.MonkeyPatch, m: int) -> None:
    """If their tiles are a pair, a block loads its rows of A and half of the columns of B.

    With an odd number of tiles in x, each loads both halves, of merged tiles in this case.
    """
    with_sms(monkeypatch, 4)
    case = matmul(m, 256, 72, tiles=(128, 128, 64), warps=8)
    counts = case.agrees(case.program.check).compiled.counts
    found = counts["tma_load"], counts.get("tma_multicast", 0)
    assert found == ((8, 8) if m == 256 else (18, 0))
    with NvgpuDevice(NvgpuOptions(sim_races=True)) as device, device_kept():
        use_device(device)
        case.agrees(case.program)


@pytest.mark.parametrize(("n", "columns"), [(512, 256), (384, 128)])
def test_tiles_of_many_blocks_are_merged(
    monkeypatch: pytest.MonkeyPatch, n: int, columns: int
) -> None:
    """If two blocks take as long as one of twice the size, and columns are even in number."""
    with_sms(monkeypatch, 2)
    case = matmul(200, n, 72, tiles=(128, 128, 32), transposed="b")
    case.agrees(case.program)
    case.agrees(case.program.check)
    text = case.program.compile(*case.arguments).ir("pipelined")
    assert f"-> tensor<128x{columns}xf32>" in text
    few = matmul(100, 256, 72, tiles=(128, 128, 32))
    assert "tensor<128x256xf32>" not in few.program.compile(*few.arguments).ir("pipelined")


@needs_ptxas
def test_nothing_spills() -> None:
    """Copies of a panel of A and of four of B, by multicast, or of eight halves if the blocks of a
    cluster are not a pair; four multiplications for each 64 elements of K."""
    program = tile_pipelines.Matmul(tiles=(128, 256, 32), warps=8)
    sizes = (4096, 4096, 4096, None, None, None)  # which no compiler unrolls
    kernel = Case(program, sizes, np.zeros(0), np.zeros(0)).kernel(arch="sm_90a")
    needs = kernel.resources
    assert (needs.spilled_bytes, needs.local_bytes, needs.warnings) == (0, 0, ())
    found = kernel.sass.count("UTMALDG.2D"), kernel.sass.count("HGMMA.64x256x16.F32")
    assert all(found)
    assert (found[0] % 13, found[1] % 4) == (0, 0)  # loops may be unrolled
    assert "HMMA" not in kernel.sass
    assert kernel.sass.count("MEMBAR.ALL.GPU") == 1  # at the end: no arrival waits for the GPU
    lines = [line for line in kernel.sass.splitlines() if re.search(r"/\*[0-9a-f]{4}\*/", line)]
    places = [place for place, line in enumerate(lines) if "HGMMA" in line]
    steps = [after - before for before, after in itertools.pairwise(places)]
    assert sorted(steps)[len(steps) // 2] <= 10  # 25 if each descriptor is recomputed


@needs_ptxas
def test_multiplications_of_an_unknown_trip_count_are_in_flight_together() -> None:
    """ptxas warns (C7515) if a path without iterations reaches the wait for them."""
    assert batched().kernel(arch="sm_90a").resources.warnings == ()


@needs_ptxas
def test_registers_allow_for_as_many_blocks_as_shared_memory() -> None:
    """Without a limit, ptxas would use 224 for the accumulators and the bias."""
    program = tile_pipelines.Biased(tiles=(128, 128, 64))
    sizes = (4096, 4096, 4096, None, None, None)
    kernel = Case(program, sizes, np.zeros(0), np.zeros(0)).kernel(arch="sm_90a")
    assert kernel.resources.blocks == 2


def test_a_bias_in_registers_leaves_room_for_slots() -> None:
    case = matmul(136, 256, 136, cls=tile_pipelines.Biased, tiles=(128, 256, 64), warps=8)
    case.expected += case.arguments[4][0]
    case.agrees(case.program)
    assert case.program.compile(*case.arguments).is_divided


# --- loops that are not transformed --------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (
            lambda: matmul(72, 72, 104, cls=tile_pipelines.Guarded),
            "the loop does more than copies and a dot: scf.if",
        ),
        (
            lambda: matmul(72, 72, 104, tiles=(32, 64, 32)),
            "a dot of 32x32 and 32x64: warpgroups need multiples of 64, 16 and 8",
        ),
        (
            lambda: matmul(72, 70, 104),
            "a stride of the tensor, 140 bytes, is not a multiple of 16 bytes",
        ),
        (
            lambda: matmul(72, 72, 104, tiles=(64, 64, 48)),
            "rows of 96 bytes in shared memory, not 32, 64 or n x 128",
        ),
        (
            lambda: matmul(72, 72, 104, tiles=(64, 512, 32), warps=8),
            "accumulators of 64x512 do not fit in the registers",
        ),
    ],
)
def test_an_untransformed_loop_has_a_note(case: Any, why: str) -> None:
    kernel = case().kernel()
    assert not kernel.is_divided
    (note,) = kernel.notes
    assert re.fullmatch(r".*tile_pipelines.py:\d+:\d+: no bulk copies .*: " + re.escape(why), note)


def around(what: str) -> Case:
    """A kernel with code around the loop that depends on its order."""
    a, b = (np.random.default_rng(0).integers(-3, 4, s).astype(np.float16) for s in (128, 64))
    a, b = np.tile(a[:, None], 64), np.tile(b, (64, 1))
    c, scratch = np.zeros((128, 64), np.float32), np.zeros((2, 64), np.int32)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    if what in ("shared", "global"):
        expected[64:] += 64
    return Case(tile_pipelines.Around(what), (a, b, scratch, c), c, expected)


@pytest.mark.parametrize("what", ["shared", "global"])
def test_barriers_of_the_loop_order_surrounding_code(what: str) -> None:
    case = around(what)
    report = case.agrees(case.program.check)
    assert report.compiled.counts["wgmma"]


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("offset", "the offset of a copy is read from memory that is written"),
        ("offset in shared memory", "the offset of a copy is read from memory that is written"),
        ("operand", "the kernel writes a tensor that is copied"),
        ("atomic", "blocks of the kernel wait for each other"),
    ],
)
def test_loops_with_unknown_copies_are_not_transformed(what: str, why: str) -> None:
    kernel = around(what).kernel()
    assert not kernel.is_divided
    assert kernel.notes[0].endswith(why)


def test_the_option_disables_pipelines() -> None:
    kernel = matmul(72, 72, 104).kernel(bulk_pipelines=False)
    assert (kernel.is_divided, kernel.notes) == (False, ())
    assert "tile.wgmma" not in kernel.ir("scheduled")


def test_memory_without_a_tensor_map_is_copied_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, memory that does not begin at a multiple of 16 bytes."""

    def refuse(kernel: Kernel, *_: Any) -> list[Any]:
        if kernel.is_divided:
            raise UserError("no map")
        return []

    monkeypatch.setattr("xtc.tile.launch.compiled.tensor_maps", refuse)
    case = matmul(72, 72, 104)
    case.agrees(case.program)
    assert case.program.compile(*case.arguments).is_divided


def test_tensor_maps_are_reused_for_the_same_arrays() -> None:
    """A launch on the arrays of the last one copies nothing to the device."""
    case = matmul(72, 72, 104)
    m, n, k, a, b, c = case.arguments
    with NvgpuDevice() as device:
        there = [device.array(each) for each in (a, b, c)]
        case.program(m, n, k, *there)
        before = device.counters()["nvgpu.H2D_COPIES"]
        case.program(m, n, k, *there)
        assert device.counters()["nvgpu.H2D_COPIES"] == before
        other = device.array(2 * a)
        case.program(m, n, k, other, *there[1:])
        np.testing.assert_array_equal(there[2].numpy(), 2 * case.expected)
        for array in (*there, other):
            array.free()
