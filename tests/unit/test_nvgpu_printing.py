# SPDX-License-Identifier: Apache-2.0
"""Output of kernels on the simulator goes to `sys.stdout`, in block order, also after a fault."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

from tests.unit.nvgpu_support import independent
from xtc.core.errors import DeviceFault, DeviceTimeout
from xtc_targets.nvgpu import simulator

NEVER = 1 << 40
"""No block has this number."""

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches use all cores from the start."""
    monkeypatch.setattr(simulator, "ALONE_NS", 0)


def lines(blocks: int, width: int, count: int) -> list[str]:
    """The output of the kernel `prints`."""
    return [
        f"block {block}, line {line:0{width}d} of 100%\n"
        for block in range(blocks)
        for line in range(count)
    ]


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_blocks_print_in_order(cores: int, capsys: pytest.CaptureFixture[str]) -> None:
    with independent(cores) as (found, memory):
        for _ in range(2):
            print("before")
            found.device.launch(found.prints, [memory, 3, 4, NEVER], [17])
            print("after")
            expected = "".join(("before\n", *lines(17, 3, 4), "after\n"))
            assert capsys.readouterr().out == expected


def test_a_launch_that_is_divided_later_prints_in_order(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for alone in (20_000, 100_000):
        monkeypatch.setattr(simulator, "ALONE_NS", alone)
        with independent(2) as (found, memory):
            found.device.launch(found.prints, [memory, 1, 40, NEVER], [50])
        assert capsys.readouterr().out == "".join(lines(50, 1, 40))


def test_launches_in_queues_print_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    """More launches than the device keeps in flight."""
    with independent(1) as (found, memory):
        queue = found.device.queue()
        for count in range(100):
            queue.launch(found.prints, [memory, count + 1, 1, NEVER], grid=[1])
        queue.wait()
    expected = [line for count in range(100) for line in lines(1, count + 1, 1)]
    assert capsys.readouterr().out == "".join(expected)


@pytest.mark.parametrize("cores", [1, 3])
def test_the_last_mebibyte_of_output_is_kept(
    cores: int, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = lines(10, 1000, 200)
    with independent(cores) as (found, memory):
        found.device.launch(found.prints, [memory, 1000, 200, NEVER], [10])
        told, kept = capsys.readouterr().out.split("\n", 1)
        match = re.fullmatch(
            r"\[the kernel's first (\d+) texts are lost: only the last 1 MiB is kept\]", told
        )
        assert match
        lost = int(match[1])
        assert kept == "".join(expected[lost:])
        assert 2**20 - 2 * 1100 < len(kept.encode()) + 16 * (2000 - lost) <= 2**20
        # The next launch has all of it again.
        found.device.launch(found.prints, [memory, 1, 1, NEVER], [1])
        assert capsys.readouterr().out == "block 0, line 0 of 100%\n"


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_output_before_a_fault_is_printed(cores: int, capsys: pytest.CaptureFixture[str]) -> None:
    with (
        independent(cores) as (found, memory),
        pytest.raises(DeviceFault, match=r"in block \(3, 0, 0\).*read of 4 bytes outside"),
    ):
        found.device.launch(found.prints, [memory, 2, 3, 3], [9])
    assert capsys.readouterr().out == "".join(lines(4, 2, 3))


@pytest.mark.parametrize("cores", [1, 2])
def test_output_before_the_time_limit_is_printed(
    cores: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with independent(cores, timeout_s=0.2) as (found, memory), pytest.raises(DeviceTimeout):
        found.device.launch(found.prints_and_hangs, [memory])
    assert capsys.readouterr().out == "block 0\nblock 1\n"


@pytest.mark.parametrize("cores", [1, 3])
def test_output_before_the_end_of_the_device_is_printed(
    cores: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with independent(cores) as (found, memory):
        running, beside = found.device.queue(), found.device.queue()
        running.launch(found.prints_and_hangs, [memory])
        begun = np.zeros(64, np.int32)
        while not begun[:2].all():
            beside.copy_from(memoryview(begun), memory.address, parallel=True)
            beside.wait()
        found.device.close()
    assert capsys.readouterr().out.startswith("block 0\nblock 1\n")


def test_the_length_of_a_text_is_limited(capsys: pytest.CaptureFixture[str]) -> None:
    with independent(1) as (found, memory):
        found.device.launch(found.prints, [memory, 65000, 1, NEVER], [1])
        assert capsys.readouterr().out == lines(1, 65000, 1)[0]
        with pytest.raises(DeviceFault, match="cuda_print of more than 65535 bytes at once"):
            found.device.launch(found.prints, [memory, 65536, 1, NEVER], [1])
    assert not capsys.readouterr().out


def test_a_program_without_stdout_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    with independent(1) as (found, memory):
        monkeypatch.setattr(sys, "stdout", None)
        found.device.launch(found.prints, [memory, 1, 1, NEVER], [1])


def test_a_failing_stdout_does_not_fail_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def write(self, text: str) -> int:
            raise BrokenPipeError(text)

    told: list[Any] = []
    with independent(1) as (found, memory):
        monkeypatch.setattr(sys, "stdout", Broken())
        monkeypatch.setattr(sys, "unraisablehook", told.append)
        found.device.launch(found.prints, [memory, 1, 1, NEVER], [1])
    assert [str(each.exc_value) for each in told] == ["block 0, line 0 of 100%\n"]
