# SPDX-License-Identifier: Apache-2.0
"""Thread groups and mbarriers: correct on the simulator and in the interpreter, which detects each
missing wait, arrival and barrier."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.unit import tile_groups
from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.tile_mutants import marked, with_line
from xtc import tile
from xtc.core.errors import DeviceFault, UserError
from xtc.tile.interpreter.report import DeadlockError, RaceError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

SOURCE = Path(tile_groups.__file__)
RNG = np.random.default_rng(0)


def sums(module: ModuleType = tile_groups) -> tuple[Any, tuple[Any, ...], Any, Any]:
    x, y = RNG.integers(0, 9, 1024).astype(np.float32), np.zeros(128, np.float32)
    return module.SumInGroups(), (1024, x, y), y, 2 * x.reshape(8, 128).sum(0)


def rows(module: ModuleType = tile_groups) -> tuple[Any, tuple[Any, ...], Any, Any]:
    x, y = RNG.integers(0, 9, (64, 64)).astype(np.float32), np.zeros(64, np.float32)
    total = x.sum(1)
    expected = total + np.cumsum(total.reshape(2, 32), axis=1).reshape(64)
    return module.RowSumsInGroups(), (x, y), y, expected


def thread(module: ModuleType = tile_groups) -> tuple[Any, tuple[Any, ...], Any, Any]:
    y = np.zeros(64, np.int32)
    return module.OneThread(), (7, y), y, 7 + np.arange(64)


@pytest.mark.slow
@pytest.mark.parametrize("case", [sums, rows, thread])
def test_groups_agree_with_numpy(case: Any) -> None:
    program, arguments, found, expected = case()
    program(*arguments)
    np.testing.assert_array_equal(found, expected)
    found[...] = 0
    program.check(*arguments)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@needs_ptxas
@pytest.mark.parametrize("case", [sums, rows])
def test_groups_use_hardware_barriers(case: Any) -> None:
    program, arguments, *_ = case()
    kernel = program._pick(program._bound(arguments, {}), NvgpuDevice(NvgpuOptions(arch="sm_90a")))
    needs = kernel.resources
    assert (needs.spilled_bytes, needs.local_bytes, needs.warnings) == (0, 0, ())
    if case is rows:
        assert "bar.sync \t1, 64" in kernel.ptx.replace("\tbar.sync", "bar.sync")
        assert "bar.sync \t2, 64" in kernel.ptx.replace("\tbar.sync", "bar.sync")


MUTATIONS = [
    (sums, "empty", "pass", (DeadlockError, RaceError), ""),
    (sums, "filled", "pass", DeadlockError, ""),
    (sums, "full", "pass", RaceError, "missing sync"),
    (sums, "turn", "pass", (DeadlockError, RaceError), ""),
    (sums, "emptied", "pass", DeadlockError, ""),
    (rows, "group", "pass", RaceError, "missing sync"),
    (thread, "block", "pass", RaceError, "missing sync"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "mark", "line", "error", "kind"), MUTATIONS)
def test_missing_synchronization_is_detected(
    case: Any, mark: str, line: str, error: Any, kind: str, tmp_path: Path
) -> None:
    module = with_line(SOURCE, marked(SOURCE, mark), tmp_path, line)
    program, arguments, *_ = case(module)
    with pytest.raises(error) as caught:
        program.check(*arguments)
    assert module.__name__ in str(caught.value)
    assert getattr(caught.value, "kind", "") == kind or not kind


def test_a_deadlock_names_waiting_threads_and_barriers(tmp_path: Path) -> None:
    program, arguments, *_ = sums(with_line(SOURCE, marked(SOURCE, "filled"), tmp_path))
    with pytest.raises(DeadlockError) as caught:
        program.check(*arguments)
    text = str(caught.value)
    assert "every group of threads waits, and none can continue" in text
    assert "threads 0 to 127 of block (0, 0, 0): waits for a phase of parity 0; " in text
    assert re.search(r"the mbarrier allocated at \S*:\d+:\d+ lacks \d+ of \d+ arrivals", text)
    assert "hint: another group or block must do what each waits for" in text


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["filled", "emptied"])
def test_the_simulator_reports_the_deadlock(mark: str, tmp_path: Path) -> None:
    program, arguments, *_ = sums(with_line(SOURCE, marked(SOURCE, mark), tmp_path))
    with NvgpuDevice() as device:
        tile.use_device(device)
        try:
            with pytest.raises(DeviceFault, match="deadlock: an mbarrier's phase of parity"):
                program(*arguments)
        finally:
            tile.use_device(None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("UsedElsewhere", "store_global uses a tile of other threads"),
        ("UsedElsewhere", "by all threads of the block, and used by threads 32 to 63\n"),
        ("SumUsedElsewhere", "and used by thread 0\n"),
        ("SumUsedElsewhere", "x.item.. is the number in a tile of one element"),
        ("UsedAfter", "was changed in a thread group, and only its threads know it"),
        ("TooManyThreads", "thread_group: threads 32 to 95 of 64"),
        ("HalfAWarp", "thread_group: threads 0 to 15 are not a group"),
        ("TooManyArrivals", "32 arrivals at an mbarrier whose phase expects 1"),
    ],
)
def test_invalid_kernels_are_refused(name: str, text: str) -> None:
    x = np.zeros(64, np.float32)
    with pytest.raises(UserError, match=text):
        getattr(tile_groups, name)().check(x)


def test_nested_groups_count_in_an_attribute() -> None:
    program = tile_groups.CountedInGroups()
    for run in (program.check, program):
        y = np.zeros(2, np.int32)
        run(5, y)
        assert y.tolist() == [10, 5]


def test_a_number_that_a_group_changes_is_not_carried_by_a_loop_around_it() -> None:
    with pytest.raises(UserError, match="'count' changes in a thread group") as caught:
        tile_groups.CountedInLoop().check(5, np.zeros(2, np.int32))
    assert f"tile_groups.py:{marked(SOURCE, 'loop') + 1}:" in str(caught.value)
    assert "write the loop within the group" in str(caught.value)
