# SPDX-License-Identifier: Apache-2.0
"""Every wait, sync, fence, arrival and lock is needed: in the examples, in pipelines of the
compiler, and in generated thread code.

The interpreter names the line; the simulator faults or gives a wrong result, or an exception is
listed with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.tensor_core_contractions import with_sms
from tests.unit.tile_cases import FOLDER, NAMES, Case, batched, matmul
from tests.unit.tile_exchanges import Exchanges, expected
from tests.unit.tile_mutants import BARRIERS, DropOperations, broken, named, noticed, with_line
from xtc import tile
from xtc.core.errors import UserError
from xtc.tile.interpreter.report import DeadlockError, RaceError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

LINE = re.compile(
    r"self\.(sync\(|copy_async_|mbarrier\.|fence\.|wgmma\.(fence|wait_|commit_)"
    r"|tma\.(wait_|commit_)|lock_|release_|cluster\.sync)"
)
"""How a statement begins that orders others."""

AT_ONCE = "the simulator multiplies at once: nothing is in flight, and registers need no order"
WHY = {
    "self.wgmma.fence": AT_ONCE,
    "self.wgmma.commit": AT_ONCE,
    "self.wgmma.wait": AT_ONCE,
    "matmul_pipelined: self.copy_async_wait_all": "the memory freed after it is not reused",
    "matmul_split_k: self.sync": "threads store what they have loaded themselves, and the next "
    "block begins when all have",
}
"""Why the simulator may notice nothing where a line of an example is missing."""

SAMPLE = 13
"""The simulator runs one of this number of mutants, and all of them in the long check."""


def mutations() -> list[tuple[str, int, str]]:
    """Each synchronizing line of each example, by its number from 0."""
    return [
        (name, number, line.strip())
        for name in NAMES
        for number, line in enumerate((FOLDER / f"{name}.py").read_text().splitlines())
        if LINE.match(line.strip())
    ]


def without(name: str, number: int, folder: Path) -> Any:
    """The example's case without a line."""
    return vars(with_line(FOLDER / f"{name}.py", number, folder))["case"]()


@pytest.mark.parametrize(("name", "number", "line"), mutations())
def test_the_interpreter_names_the_line(name: str, number: int, line: str, tmp_path: Path) -> None:
    case = without(name, number, tmp_path)
    with pytest.raises((RaceError, UserError)) as caught:
        case.run(lambda program: program.check)
    assert f"mutant_{name}_{number}.py" in str(caught.value)


def test_the_simulator_detects_a_missing_line(tmp_path: Path, is_long: bool) -> None:
    for name, number, line in mutations()[:: 1 if is_long else SAMPLE]:
        if not noticed(on_device(without(name, number, tmp_path))):
            here = f"{name}: {line}"
            assert any(line.startswith(key) or here.startswith(key) for key in WHY), here


def on_device(case: Any) -> Callable[[NvgpuDevice], None]:
    """Run an example's case on a device."""

    def there(device: NvgpuDevice) -> None:
        tile.use_device(device)
        try:
            case.run(lambda program: program)
        finally:
            tile.use_device(None)

    return there


# --- pipelines that the compiler generates from plain loops ---------------------------------------

PIPELINES: dict[str, Callable[[], Case]] = {
    "one slot": lambda: matmul(72, 72, 104),
    "batched": batched,
    "three slots": lambda: matmul(72, 72, 232, slots=3),
    "transposed": lambda: matmul(72, 72, 104, slots=2, transposed="ab", tiles=(64, 64, 16)),
    "two warpgroups": lambda: matmul(136, 136, 264, slots=3, tiles=(128, 128, 64), warps=8),
}
WHY_OPERATION = {
    "tile.wgmma_fence": AT_ONCE,
    "tile.wgmma_commit": AT_ONCE,
    "tile.wgmma_wait": AT_ONCE,
    "tile.sync": "a warpgroup runs in the order of its threads, which store before others load",
}


@cache
def pipeline(name: str) -> tuple[Case, tuple[str, ...]]:
    """A case, and the synchronizing operations of its pipeline."""
    case = PIPELINES[name]()
    return case, tuple(op.name for op in named(case.kernel().launched))


def lost(name: str, number: int, device: NvgpuDevice) -> Any:
    """The kernel without an operation of its pipeline.

    One block computes all tiles, so that its slots are reused.
    """
    case, _ = pipeline(name)
    mistake = DropOperations(numbers=(number,))
    kernel = broken(case.program, case.arguments, "pipelined", mistake, device)
    kernel.grid = lambda *_: [1, 1, 1]  # type: ignore[method-assign]
    return kernel


def operations(count: int | None, step: int) -> list[tuple[str, int]]:
    """Synchronizing operations of some pipelines: each one, or a sample."""
    names = list(PIPELINES)[:count]
    return [(name, number) for name in names for number in range(len(pipeline(name)[1]))][::step]


def test_the_interpreter_detects_operations_missing_in_a_pipeline(is_long: bool) -> None:
    with NvgpuDevice(NvgpuOptions()) as device:
        for name, number in operations(*((None, 1) if is_long else (2, 2))):
            case, _ = pipeline(name)
            kernel = lost(name, number, device)
            values = case.program._bound(case.arguments, {})
            with pytest.raises((RaceError, DeadlockError), match="a compiler bug") as caught:
                kernel.check(values)
            assert "tile_pipelines.py" in str(caught.value.where)


def test_the_simulator_detects_operations_missing_in_a_pipeline(is_long: bool) -> None:
    for name, number in operations(*((None, 1) if is_long else (1, 4))):
        _, ops = pipeline(name)
        assert noticed(launched(name, number)) or ops[number] in WHY_OPERATION, (name, ops[number])


def launched(name: str, number: int) -> Callable[[NvgpuDevice], None]:
    """Run a pipeline without an operation, and compare."""
    case, _ = pipeline(name)
    values = case.program._bound(case.arguments, {})

    def run(device: NvgpuDevice) -> None:
        kernel = lost(name, number, device)
        case.agrees(lambda *_: kernel.launch(device, values))

    return run


# --- pairs of blocks ------------------------------------------------------------------------------

CLUSTERS = r"tile\.cluster_(sync|arrive)"


def test_what_a_pair_has_lost_is_found(monkeypatch: pytest.MonkeyPatch, is_long: bool) -> None:
    """Two blocks of four tiles each, which load halves of B for each other."""
    with_sms(monkeypatch, 2)
    case = matmul(256, 512, 72, tiles=(128, 128, 64), warps=8)
    values = case.program._bound(case.arguments, {})
    count = len(named(case.kernel().launched, CLUSTERS))
    assert count == 4

    def lost_by(number: int, device: NvgpuDevice) -> Any:
        mistake = DropOperations(CLUSTERS, (number,))
        return broken(case.program, case.arguments, "pipelined", mistake, device)

    def run(number: int, device: NvgpuDevice) -> None:
        case.agrees(lambda *_: lost_by(number, device).launch(device, values))

    for number in range(count) if is_long else (1, 3):
        with NvgpuDevice() as device, pytest.raises((RaceError, DeadlockError)):
            lost_by(number, device).check(values)
        assert not is_long or noticed(partial(run, number)), number


# --- barriers of the code for threads ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["convert", "reduce", "scan"])
def test_barriers_between_threads_are_needed(kind: str) -> None:
    """The first and the last barrier of an exchange both separate its memory from that of others:
    only the removal of both has an effect."""
    program = Exchanges(kind)
    x = np.random.default_rng(0).integers(-9, 9, (16, 64)).astype(np.int32)
    y = np.zeros_like(x)
    with NvgpuDevice() as device:
        kernel: Any = program._pick(program._bound((x, y), {}), device)
        count = len(named(kernel._lowered("offloaded").operation, BARRIERS))
    assert count >= 3

    def run(device: NvgpuDevice, numbers: tuple[int, ...]) -> None:
        mistake = DropOperations(BARRIERS, numbers)
        kernel = broken(program, (x, y), "offloaded", mistake, device)
        kernel.launch(device, program._bound((x, y), {}))
        np.testing.assert_array_equal(y, expected(kind, x))

    for numbers in ((0, count - 1), *((number,) for number in range(1, count - 1))):
        assert noticed(lambda device, numbers=numbers: run(device, numbers)), numbers
