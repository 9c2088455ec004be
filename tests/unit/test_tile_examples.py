# SPDX-License-Identifier: Apache-2.0
"""The examples of tile kernels: correct on every backend, and without spills."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.tile_cases import NAMES
from xtc.tile.launch.compiled import Kernel
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow


def example(name: str) -> ModuleType:
    return importlib.import_module(f"examples.tile.{name}")


@pytest.mark.parametrize("name", NAMES)
def test_simulator_and_interpreter_agree_with_numpy(name: str) -> None:
    case = example(name).case()
    case.run(lambda program: program)
    case.run(lambda program: program.check)


@needs_ptxas
@pytest.mark.parametrize(
    ("name", "arch"),
    [
        (name, arch)
        for name in NAMES
        for arch in ("sm_80", "sm_86", "sm_89", "sm_90a")
        if arch == "sm_90a" or not name.startswith("hopper")
    ],
)
def test_nothing_spills(name: str, arch: str) -> None:
    case = example(name).case()
    device = NvgpuDevice(NvgpuOptions(arch=arch))
    for launch in case.launches:
        program = launch.program
        values = program._bound(launch.arguments, {})
        kernel: Kernel = program._pick(values, device)
        needs = kernel.resources
        assert needs.spilled_bytes == 0
        assert needs.local_bytes == 0
        assert needs.warnings == ()
        assert needs.registers <= 128
        assert ("mma.sync" in kernel.ptx) == ("tile.dot" in kernel.ir())
        assert ("wgmma.mma_async" in kernel.ptx) == ('tile.wgmma"' in kernel.ir())
        assert ("cp.async.c" in kernel.ptx) == ("tile.copy_async" in kernel.ir())
