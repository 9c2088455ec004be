# SPDX-License-Identifier: Apache-2.0
"""Each kind of race that the interpreter detects, and accesses that do not race."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.unit import tile_races
from xtc.core.errors import DeviceFault, UserError
from xtc.tile import cdiv
from xtc.tile.config import device_kept, use_device
from xtc.tile.interpreter.report import RaceError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions


def line_of(text: str) -> int:
    """The line with this mark in the kernels' file."""
    lines = open(tile_races.__file__).read().splitlines()  # noqa: PTH123, SIM115
    (found,) = [number for number, line in enumerate(lines, 1) if f"# {text}" in line]
    return found


@pytest.mark.parametrize(
    ("kernel", "kind", "first", "second"),
    [
        (tile_races.Unwritten, "undefined", "", "unwritten"),
        (tile_races.TwoStores, "missing sync", "two 1", "two 2"),
        (tile_races.Refilled, "missing sync", "refilled 1", "refilled 2"),
        (tile_races.TwoCopies, "read before wait", "copies 1", "copies 2"),
        (tile_races.GroupTooEarly, "read before wait", "group 1", "group 2"),
        (tile_races.FreedInFlight, "read before wait", "flight 1", "flight 2"),
        (tile_races.FreedWhileRead, "freed while used", "freed 1", "freed 2"),
        (tile_races.AllocatedInALoop, "freed while used", "made 1", "made 2"),
        (tile_races.AllocatedInBranches, "freed while used", "branch 1", "branch 2"),
        (tile_races.AllBlocks, "two blocks", "blocks", "blocks"),
        (tile_races.GlobalExchange, "missing sync", "exchange 1", "exchange 2"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_race_names_both_lines(kernel: Any, kind: str, first: str, second: str) -> None:
    x = np.arange(1024, dtype=np.float32)
    with pytest.raises(RaceError) as caught:
        kernel().check(1024, x)
    assert caught.value.kind == kind
    assert int(caught.value.second.split(":")[1]) == line_of(second)
    assert bool(caught.value.first) == bool(first)
    if first:
        assert int(caught.value.first.split(":")[1]) == line_of(first)
    assert caught.value.hints


@pytest.mark.parametrize(
    "kernel", [tile_races.InPlace, tile_races.SameElements, tile_races.AtomicInPlace]
)
def test_accesses_of_the_same_threads_do_not_race(kernel: Any) -> None:
    x = np.arange(1000, dtype=np.float32)
    report = kernel().check(1000, x)
    assert report.blocks == cdiv(1000, 128)
    assert "no race in 8 blocks" in str(report)


def test_elements_of_several_threads_change_in_place() -> None:
    """Only the thread that stores an element loads it."""
    with NvgpuDevice(NvgpuOptions(sim_races=True)) as device, device_kept():
        use_device(device)
        x = np.full(32, 4, np.float32)
        tile_races.FewInPlace()(32, x)
    np.testing.assert_array_equal(x, 6)


def test_a_tensor_per_iteration_does_not_race_after_a_sync() -> None:
    x = np.zeros(1024, np.float32)
    tile_races.AllocatedInALoop(ordered=True).check(1024, x)
    assert (x == 1).all()


def test_a_tensor_larger_than_its_array_is_a_mistake() -> None:
    with pytest.raises(UserError, match="larger than the array") as caught:
        tile_races.InPlace().check(1001, np.zeros(1000, np.float32))
    assert "the array has 1000 elements" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "number", "mark", "what"),
    [
        (tile_races.Assumes(), 6, "assumed", "what the kernel assumes does not hold"),
        (tile_races.Steps(breaks=False), 0, "counts", "the step of a range is 0 or less"),
        (tile_races.Steps(breaks=True), -1, "breaks", "the step of a range is 0 or less"),
        (tile_races.Byte(), 1, "byte", "a tile of elements that share bytes begins within a byte"),
    ],
)
def test_assumptions_are_checked(program: Any, number: int, mark: str, what: str) -> None:
    for run, error in ((program.check, UserError), (program, DeviceFault)):
        with pytest.raises(error) as caught:
            run(number, np.zeros(128, np.float32))
        assert f"tile_races.py:{line_of(mark)}:" in str(caught.value)
        assert what in str(caught.value)
        assert f"# {mark}\n" in str(caught.value)
        assert caught.value.hints


@pytest.mark.slow
def test_a_fault_of_the_simulator_names_the_line() -> None:
    with pytest.raises(DeviceFault) as caught:
        tile_races.InPlace()(4000, np.zeros(1000, np.float32))
    text = str(caught.value)
    assert f"tile_races.py:{line_of('beyond')}:13: " in text
    assert re.search(
        r"kernel 'InPlace_tile' in block \(\d, 0, 0\), thread \(\d+, 0, 0\): read", text
    )
    assert "outside an allocation in global memory at 0x" in text
    assert "hint: check of InPlace with the same arguments" in text
    assert "#" not in text.replace("# beyond", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.5, np.zeros(8, np.float32)), "'n' is an int32, not 1.5"),
        ((2**40, np.zeros(8, np.float32)), "does not fit in int32"),
        ((8, np.zeros(8, np.float64)), "has elements of float64, and the kernel takes float32"),
        ((8, np.zeros((8, 2), np.float32)[:, 0]), "is not contiguous"),
        ((8, [1, 2]), "is an array, not"),
        ((8,), "needs 'x_ptr'"),
        ((8, np.zeros(8, np.float32), 3), "takes 2 arguments, not 3"),
    ],
)
def test_arguments_are_checked(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        tile_races.InPlace()(*arguments)


@pytest.mark.slow
def test_a_read_only_array_is_not_written() -> None:
    x = np.zeros(128, np.float32)
    x.flags.writeable = False
    with pytest.raises(UserError, match="read-only"):
        tile_races.InPlace()(128, x)


def test_an_empty_grid_does_nothing() -> None:
    tile_races.InPlace()(0, np.zeros(1, np.float32))
