# SPDX-License-Identifier: Apache-2.0
"""Loops of copies and dots become pipelines of bulk copies and warpgroups: right, without races,
within registers; what synchronises them is all needed; and a loop that is left says why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.unit import tile_pipelines
from tests.unit.nvgpu_code import needs_ptxas
from xtc.core.errors import UserError
from xtc.ir.mlir import Module
from xtc.tile import bfloat16
from xtc.tile.compiled import Kernel
from xtc.tile.interpreter.report import DeadlockError, RaceError
from xtc.tile.interpreter.run import interpret
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions
from xtc_targets.nvgpu.passes.infer_tile_layouts import InferTileLayouts

pytestmark = pytest.mark.slow
RNG = np.random.default_rng(0)


@dataclass
class Case:
    """A kernel, what it is called with, the array that it writes, and what that has to hold."""

    program: Any
    arguments: tuple[Any, ...]
    result: np.ndarray[Any, Any]
    expected: np.ndarray[Any, Any]

    def kernel(self, **options: Any) -> Kernel:
        """The kernel, compiled for a GPU with these options."""
        values = self.program._bound(self.arguments, {}, arrays=False)
        kernel: Kernel = self.program._pick(values, NvgpuDevice(NvgpuOptions(**options)))
        return kernel

    def agrees(self, run: Any) -> Any:
        """Run the kernel, and compare."""
        self.result[...] = -1
        report = run(*self.arguments)
        np.testing.assert_array_equal(self.result, self.expected)
        return report


def matmul(m: int, n: int, k: int, cls: Any = tile_pipelines.Matmul, **how: Any) -> Case:
    kind = ml_dtypes.bfloat16 if how.get("dtype") is bfloat16 else np.float16
    a, b = (RNG.integers(-4, 5, shape).astype(kind) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float32)
    transposed = how.get("transposed", "")
    given_a = np.ascontiguousarray(a.T) if "a" in transposed else a
    given_b = np.ascontiguousarray(b.T) if "b" in transposed else b
    expected = a.astype(np.float32) @ b.astype(np.float32)
    return Case(cls(**how), (m, n, k, given_a, given_b, c), c, expected)


def batched() -> Case:
    count, m, k, n = 2, 70, 136, 136
    a, b = (RNG.integers(-4, 5, (count, *s)).astype(np.float16) for s in ((m, k), (k, n)))
    bias, c = RNG.integers(-9, 9, n).astype(np.float32), np.zeros((count, m, n), np.float16)
    expected = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, 0)
    return Case(tile_pipelines.Batched(), (count, m, k, n, a, b, bias, c), c, expected)


CASES = {
    "one slot": lambda: matmul(72, 72, 104),
    "bfloat16": lambda: matmul(
        136, 136, 136, tiles=(128, 128, 64), slots=3, dtype=bfloat16, warps=8
    ),
    "transposed": lambda: matmul(72, 72, 104, slots=2, transposed="ab", tiles=(64, 64, 16)),
    "batched": batched,
}


@pytest.mark.parametrize("name", CASES)
def test_it_computes_the_same(name: str) -> None:
    case = CASES[name]()
    case.agrees(case.program)
    report = case.agrees(case.program.check)
    assert report.counts["copy_async"]
    assert report.compiled.counts["wgmma"]
    assert case.program.compile(*case.arguments).notes == ()


def test_blocks_stay_for_several_tiles() -> None:
    """Two blocks for each of 132 multiprocessors; bands of tiles, the last of them narrower."""
    case = matmul(64 * 18 + 8, 64 * 16, 64)
    kernel = case.kernel()
    values = case.program._bound(case.arguments, {})
    assert kernel.grid(values) == [264, 1, 1]
    assert kernel.undivided.grid(values) == [19, 16, 1]
    case.agrees(case.program)


@needs_ptxas
def test_nothing_spills() -> None:
    """A copy for each panel of 64 elements, four multiplications for each 64 of the sum."""
    program = tile_pipelines.Matmul(tiles=(128, 256, 32), warps=8)
    sizes = (4096, 4096, 4096, None, None, None)  # which no compiler unrolls
    kernel = Case(program, sizes, np.zeros(0), np.zeros(0)).kernel(arch="sm_90a")
    needs = kernel.resources
    assert (needs.spilled_bytes, needs.local_bytes, needs.warnings) == (0, 0, ())
    found = kernel.sass.count("UTMALDG.2D"), kernel.sass.count("HGMMA.64x256x16.F32")
    assert all(found)
    assert (found[0] % 5, found[1] % 4) == (0, 0)  # loops may be unrolled
    assert "HMMA" not in kernel.sass


# --- what orders the pipeline ------------------------------------------------------------------

ORDERING = re.compile(r'"tile\.(mbarrier_(expect|wait|arrive)|wgmma_\w+|tma_\w+t|fence_\w+|sync)"')


@pytest.fixture(scope="module")
def small() -> tuple[Kernel, Case]:
    case = matmul(72, 72, 104)
    return case.kernel(), case


def lines_that_order(kernel: Kernel) -> list[int]:
    text = kernel.ir("pipelined").splitlines()
    return [number for number, line in enumerate(text) if ORDERING.search(line)]


def test_all_that_orders_a_pipeline_is_needed(small: tuple[Kernel, Case]) -> None:
    """Each wait, arrival, fence and sync in turn: the interpreter misses it."""
    kernel, case = small
    numbers = lines_that_order(kernel)
    assert len(numbers) == 15
    m, _, _, *arrays = case.arguments
    for number in numbers:
        lines = kernel.ir("pipelined").splitlines()
        dropped = lines.pop(number)
        with kernel._module.context:
            module = Module.parse("\n".join(lines))
            InferTileLayouts().run(module.operation)
            function = module.body.operations[0].operation
            try:  # one block has all four tiles, so that slots and the store are used again
                interpret(function, [np.int32(m), *arrays], [1, 1, 1])
            except (RaceError, DeadlockError):
                continue
            pytest.fail(f"nobody misses {dropped}")


# --- what is left as it is ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (
            lambda: matmul(72, 72, 104, cls=tile_pipelines.Guarded),
            "the loop does more than copies and a dot: scf.if",
        ),
        (
            lambda: matmul(72, 72, 104, tiles=(32, 64, 32)),
            "a dot of 32x32 and 32x64: warpgroups take multiples of 64, 16 and 8",
        ),
        (
            lambda: matmul(72, 70, 104),
            "a stride of the tensor, 140 bytes, is no multiple of 16 bytes",
        ),
        (
            lambda: matmul(72, 72, 104, tiles=(64, 64, 48)),
            "rows of 96 bytes in shared memory, not 32, 64 or n x 128",
        ),
        (
            lambda: matmul(72, 72, 104, tiles=(64, 512, 32), warps=8),
            "a sum of 64x512 has too many elements for the registers",
        ),
    ],
)
def test_a_loop_that_is_left_says_why(case: Any, why: str) -> None:
    kernel = case().kernel()
    assert not kernel.is_divided
    (note,) = kernel.notes
    assert re.fullmatch(r".*tile_pipelines.py:\d+:\d+: no bulk copies .*: " + re.escape(why), note)


def test_the_option_turns_it_off() -> None:
    kernel = matmul(72, 72, 104).kernel(bulk_pipelines=False)
    assert (kernel.is_divided, kernel.notes) == (False, ())
    assert "tile.wgmma" not in kernel.ir("scheduled")


def test_memory_that_has_no_map_is_copied_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """As memory has that begins at no multiple of 16 bytes."""

    def refuse(kernel: Kernel, *_: Any) -> list[Any]:
        if kernel.is_divided:
            raise UserError("no map")
        return []

    monkeypatch.setattr("xtc.tile.compiled.tensor_maps", refuse)
    case = matmul(72, 72, 104)
    case.agrees(case.program)
    assert case.program.compile(*case.arguments).is_divided


def test_maps_stay_while_arrays_do() -> None:
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
