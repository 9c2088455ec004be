# SPDX-License-Identifier: Apache-2.0
"""Simulator, interpreter and NumPy agree on random tile kernels, shapes and layouts.

Simulator and interpreter round sums equally, so that they agree bit for bit. NumPy sums in another
order, so its inputs are numbers whose sums do not depend on the order. Cases of a batch are one
kernel, compiled once; the simulator runs their threads in a random order and detects races that a
barrier of the compiler should prevent.
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
    """Two devices: one with optimized code, one with unoptimized code."""
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


def test_simulator_interpreter_and_numpy_agree(
    tmp_path: Path, is_long: bool, devices: list[NvgpuDevice]
) -> None:
    for seed in range(LONG_BATCHES if is_long else BATCHES):
        tile.use_device(devices[seed % 8 == 7])
        kernel = batch(seed, BATCH, tmp_path)
        for case in kernel.cases:
            agrees(kernel.program, case)


def test_asynchronous_kernels_agree(is_long: bool, devices: list[NvgpuDevice]) -> None:
    """With mbarriers, semaphores and clusters; and plain loops that become such kernels."""
    tile.use_device(devices[0])
    for seed in range(LONG_ASYNCHRONOUS if is_long else ASYNCHRONOUS):
        agrees(*asynchronous(seed))


def test_names_refer_to_tiles_as_in_python(tmp_path: Path, is_long: bool) -> None:
    """Or are refused, if a run-time number decides whether two names refer to one tile."""
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
