# SPDX-License-Identifier: Apache-2.0
"""Simulator, interpreter and NumPy agree on random tile kernels, shapes and layouts.

Simulator and interpreter round sums alike, so that they agree to the bit; NumPy sums in another
order, so that its numbers are those of which every order gives the same.

Cases of a batch are one kernel, compiled once; the simulator runs their threads in a random order
and watches for races that a barrier of the compiler should prevent.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.random_tiles.aliases import aliased, in_python
from tests.unit.random_tiles.asynchronous import asynchronous
from tests.unit.random_tiles.cases import Case, batch
from xtc import tile
from xtc.tile.values.errors import KernelError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

BATCH = 16
BATCHES, ASYNCHRONOUS = 11, 24  # together 200 cases
LONG_BATCHES, LONG_ASYNCHRONOUS = 290, 360  # together 5,000
ALIASES, LONG_ALIASES = 16, 1000
MEMORY = 1 << 26

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def devices() -> Iterator[list[NvgpuDevice]]:
    """One whose code is not optimized, which the other's is."""
    options: Any = {"memory_bytes": MEMORY, "sim_races": True, "sim_schedule": "shuffled"}
    with (
        NvgpuDevice(NvgpuOptions(opt_level=0, **options)) as plain,
        NvgpuDevice(NvgpuOptions(opt_level=3, **options)) as optimized,
    ):
        yield [plain, optimized]
        tile.use_device(None)


def agrees(program: Any, case: Case) -> None:
    """Run a case three ways, and compare."""
    results = []
    for run in (program, program.check):
        case.arguments[-1][...] = 0
        run(*case.arguments)
        results.append(case.arguments[-1].copy())
    np.testing.assert_array_equal(results[0], results[1], case.text)
    if case.exact:
        np.testing.assert_array_equal(results[0], case.expected, case.text)


def test_three_ways_give_the_same(
    tmp_path: Path, is_long: bool, devices: list[NvgpuDevice]
) -> None:
    for seed in range(LONG_BATCHES if is_long else BATCHES):
        tile.use_device(devices[seed % 8 == 7])
        kernel = batch(seed, BATCH, tmp_path)
        for case in kernel.cases:
            agrees(kernel.program, case)


def test_kernels_that_wait_give_the_same(is_long: bool, devices: list[NvgpuDevice]) -> None:
    """By mbarriers, semaphores and for clusters; and plain loops that become such kernels."""
    tile.use_device(devices[0])
    for seed in range(LONG_ASYNCHRONOUS if is_long else ASYNCHRONOUS):
        agrees(*asynchronous(seed))


def test_names_stand_for_tiles_as_in_python(tmp_path: Path, is_long: bool) -> None:
    """Or are refused, where a number decides whether two names stand for one tile."""
    x = (np.arange(32, dtype=np.float32) % 5).reshape(4, 8)
    messages = set()
    for seed in range(LONG_ALIASES if is_long else ALIASES):
        program, lines = aliased(seed, tmp_path)
        for n in (3, 2):
            y = np.zeros((4, 8), np.float32)
            try:
                program.check(n, x, y)
            except KernelError as error:
                messages.add(error.what)
                continue
            np.testing.assert_array_equal(y, in_python(lines, n, x), "\n".join(lines))
            messages.add("right")
    assert "right" in messages
    assert all("another name" in message for message in messages - {"right"})
