# SPDX-License-Identifier: Apache-2.0
"""The interpreter runs a kernel after each pass that changes it, and names the faulty pass."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.random_tiles.asynchronous import asynchronous
from tests.unit.random_tiles.cases import batch
from tests.unit.tile_cases import NAMES, matmul
from tests.unit.tile_mutants import DropOperations
from xtc import tile
from xtc.ir.pipeline import Pipeline
from xtc.tile.interpreter.report import RaceError
from xtc.tile.launch.compiled import Kernel
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

ASYNCHRONOUS, LONG_ASYNCHRONOUS = 6, 100


@pytest.fixture(params=["sm_80", "sm_90a"])
def arch(request: pytest.FixtureRequest) -> Any:
    with NvgpuDevice(NvgpuOptions(arch=request.param)) as device:
        tile.use_device(device)
        yield request.param
        tile.use_device(None)


def can_run(name: str, arch: str) -> bool:
    return arch == "sm_90a" or not name.startswith("hopper")


@pytest.mark.parametrize("name", NAMES)
def test_no_pass_introduces_a_race_in_an_example(name: str, arch: str) -> None:
    if not can_run(name, arch):
        pytest.skip("a kernel for sm_90a")
    case = importlib.import_module(f"examples.tile.{name}").case()
    for launch in case.launches:
        reports = launch.program.check_passes(*launch.arguments)
        assert {"source", "infer-tile-layouts"} <= set(reports)
        assert all("no race" in str(report) for report in reports.values())


def test_no_pass_introduces_a_race_in_a_random_kernel(
    arch: str, is_long: bool, tmp_path: Path
) -> None:
    for seed in range(4 if is_long else 1):
        kernel = batch(seed, 4, tmp_path)
        for case in kernel.cases:
            kernel.program.check_passes(*case.arguments)
    for seed in range(LONG_ASYNCHRONOUS if is_long else ASYNCHRONOUS):
        program, case = asynchronous(seed)
        if arch == "sm_90a":
            assert "source" in program.check_passes(*case.arguments)


def test_plain_loops_are_checked_as_pipelines(arch: str) -> None:
    case = matmul(72, 72, 104)
    before = case.result.copy()
    reports = case.program.check_passes(*case.arguments)
    assert ("pipeline-bulk-copies" in reports) == (arch == "sm_90a")
    np.testing.assert_array_equal(case.result, before)


def test_a_pass_that_removes_a_wait_is_named() -> None:
    case = matmul(72, 72, 104, slots=3)
    with NvgpuDevice(NvgpuOptions(arch="sm_90a")) as device:
        kernel = mistaken(case, device)
        values = case.program._bound(case.arguments, {})
        with pytest.raises(RaceError) as caught:
            kernel.check_passes(values)
    assert "after the pass drop-operations: a compiler bug" in str(caught.value)
    assert "tile_pipelines.py" in str(caught.value.where)


def mistaken(case: Any, device: NvgpuDevice) -> Kernel:
    """The kernel, with a pass that removes each mbarrier wait of its pipeline."""
    values = case.program._bound(case.arguments, {}, arrays=False)
    kernel = Kernel(*case.program._pick(values, device)._made_of)
    mistake = DropOperations(pattern=r"tile\.mbarrier_wait", numbers=(0, 1))
    stages = tuple(
        replace(each, steps=(*each.steps, mistake)) if each.name == "pipelined" else each
        for each in kernel.support.pipeline.stages
    )
    kernel.support = replace(kernel.support, pipeline=Pipeline(stages))
    return kernel
