# SPDX-License-Identifier: Apache-2.0
"""Kernels that are nearly right: the interpreter finds each race, and none in the legal twin."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.tile_adversaries import blocks, copies, groups
from tests.unit.tile_adversaries.base import Adversary
from xtc import tile
from xtc.tile.interpreter.report import DeadlockError, RaceError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

ADVERSARIES = [
    value
    for module in (blocks, groups, copies)
    for value in vars(module).values()
    if inspect.isclass(value) and issubclass(value, Adversary) and value is not Adversary
]

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _hopper() -> Any:
    with NvgpuDevice(NvgpuOptions(arch="sm_90a")) as device:
        tile.use_device(device)
        yield
        tile.use_device(None)


def line(kernel: type[Adversary], number: int) -> int | None:
    """The line with the kernel's mark of this number; None where there is none."""
    lines = Path(inspect.getfile(kernel)).read_text().splitlines()
    found = [
        at
        for at, text in enumerate(lines, 1)
        if f"# {kernel.__name__} " in text and str(number) in text.split("#")[-1]
    ]
    return found[0] if found else None


def line_of(where: str) -> int | None:
    return int(where.split(":")[1]) if where else None


@pytest.mark.parametrize("kernel", ADVERSARIES)
def test_the_mistake_is_found(kernel: Any) -> None:
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


@pytest.mark.parametrize("kernel", ADVERSARIES)
def test_the_legal_twin_has_no_report(kernel: Any) -> None:
    arrays = kernel.arrays()
    assert "no race" in str(kernel(right=True).check(*arrays))
    again = kernel.arrays()
    kernel(right=True).check(*again)
    for found, same in zip(arrays, again, strict=True):
        np.testing.assert_array_equal(found, same)


def test_a_message_says_who_what_and_what_to_insert() -> None:
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
