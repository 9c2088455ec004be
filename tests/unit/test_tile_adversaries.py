# SPDX-License-Identifier: Apache-2.0
"""Nearly correct kernels: the interpreter detects each race, and reports none in the legal twin;
the simulator detects races between blocks in any order."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.tile_adversaries import blocks, copies, groups, lost
from tests.unit.tile_adversaries.base import Adversary
from tests.unit.tile_mutants import simulated
from xtc import tile
from xtc.tile.interpreter.report import DeadlockError, RaceError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions


def adversaries(*modules: Any) -> list[Any]:
    return [
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Adversary) and value is not Adversary
    ]


ADVERSARIES = adversaries(blocks, groups, copies, lost)
ORDERS: dict[str, dict[str, Any]] = {
    "in order": {"sim_races": True},
    "shuffled": {"sim_races": True, "sim_schedule": "shuffled"},
}

pytestmark = pytest.mark.slow


@pytest.fixture
def hopper() -> Any:
    with NvgpuDevice(NvgpuOptions(arch="sm_90a")) as device:
        tile.use_device(device)
        yield device
        tile.use_device(None)


def line(kernel: type[Adversary], number: int) -> int | None:
    """The line with the kernel's mark of this number; None if there is none."""
    lines = Path(inspect.getfile(kernel)).read_text().splitlines()
    found = [
        at
        for at, text in enumerate(lines, 1)
        if f"# {kernel.__name__} " in text and str(number) in text.split("#")[-1]
    ]
    return found[0] if found else None


def line_of(where: str) -> int | None:
    return int(where.split(":")[1]) if where else None


@pytest.mark.usefixtures("hopper")
@pytest.mark.parametrize("kernel", ADVERSARIES)
def test_the_mistake_is_detected(kernel: Any) -> None:
    with pytest.raises((RaceError, DeadlockError)) as caught:
        kernel().check(*kernel.arrays())
    if kernel.kind == "deadlock":
        assert isinstance(caught.value, DeadlockError)
        assert line_of(str(caught.value.where)) == line(kernel, 1)
        return
    assert isinstance(caught.value, RaceError)
    assert caught.value.kind == kernel.kind
    assert line_of(caught.value.first) == line(kernel, 1)
    assert line_of(caught.value.second) == line(kernel, 2)
    assert caught.value.hints
    assert any("of block (" in note for note in caught.value.notes)


@pytest.mark.usefixtures("hopper")
@pytest.mark.parametrize("kernel", ADVERSARIES)
def test_the_legal_twin_has_no_report(kernel: Any) -> None:
    arrays = kernel.arrays()
    assert "no race" in str(kernel(right=True).check(*arrays))
    again = kernel.arrays()
    kernel(right=True).check(*again)
    for found, same in zip(arrays, again, strict=True):
        np.testing.assert_array_equal(found, same)


def test_messages_name_threads_accesses_and_the_fix() -> None:
    kernel = groups.TwoReaders
    with pytest.raises(RaceError) as caught:
        kernel().check(*kernel.arrays())
    first, second = line(kernel, 1), line(kernel, 2)
    text = str(caught.value)
    assert f"groups.py:{second}:" in text
    assert "a block writes global memory that its threads have read since the last sync" in text
    assert f"groups.py:{first}:17, by threads 0 to 31 of block (0, 0, 0)" in text
    assert "note: elements [0:128] of the tensor" in text
    assert "note: by threads 32 to 63 of block (0, 0, 0)" in text
    assert "hint: insert self.sync() between both" in text


def test_the_same_mistake_has_the_same_message() -> None:
    texts = set()
    for _ in range(3):
        with pytest.raises(RaceError) as caught:
            groups.OneOfTwoConsumers().check(*groups.OneOfTwoConsumers.arrays())
        texts.add(str(caught.value))
    assert len(texts) == 1


def on_simulator(kernel: Any, order: dict[str, Any], **how: Any) -> str:
    """The simulator's report on a kernel."""

    def run(device: NvgpuDevice) -> None:
        tile.use_device(device)
        try:
            arrays = kernel.arrays()
            kernel(**how)(*arrays)
            if hasattr(kernel, "expected"):
                np.testing.assert_array_equal(arrays[1], kernel.expected(arrays[0]))
        finally:
            tile.use_device(None)

    return simulated(run, **order)


@pytest.mark.parametrize("kernel", adversaries(blocks))
def test_the_simulator_detects_races_between_blocks(kernel: Any, is_long: bool) -> None:
    for order in list(ORDERS.values())[: None if is_long else 1]:
        if kernel.on_simulator:
            assert "race in global memory" in on_simulator(kernel, order)
        assert on_simulator(kernel, order, right=True) == ""


def test_the_simulator_has_no_report_of_legal_twins(is_long: bool) -> None:
    for kernel in adversaries(groups, copies)[:: 1 if is_long else 5]:
        assert on_simulator(kernel, ORDERS["shuffled"], right=True) == "", kernel


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("kernel", adversaries(lost))
def test_barriers_in_branches_and_loops_are_kept(kernel: Any, arch: str) -> None:
    assert on_simulator(kernel, {**ORDERS["shuffled"], "arch": arch}, right=True) == ""
