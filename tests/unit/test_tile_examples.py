# SPDX-License-Identifier: Apache-2.0
"""The examples of tile kernels: right everywhere, within registers, and wrong without any wait."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.unit.nvgpu_code import needs_ptxas
from xtc.core.errors import DeviceFault, UserError
from xtc.tile.compiled import Kernel
from xtc.tile.interpreter.report import RaceError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "examples" / "tile"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "show"))
ORDERING = (
    *("self.sync()", "self.copy_async_wait_all()", "self.copy_async_wait_group("),
    *("self.mbarrier.", "self.fence.", "self.wgmma.fence", "self.wgmma.wait_group"),
    *("self.wgmma.commit_group", "self.tma.wait_group", "self.tma.commit_group"),
)


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


def mutations() -> list[tuple[str, int]]:
    """Each line of each example that orders something, by its number from 0."""
    return [
        (name, number)
        for name in NAMES
        for number, line in enumerate((FOLDER / f"{name}.py").read_text().splitlines())
        if line.strip().startswith(ORDERING)
    ]


def mutant(name: str, number: int, folder: Path) -> Any:
    """The example's case without this line."""
    lines = (FOLDER / f"{name}.py").read_text().splitlines()
    indent = len(lines[number]) - len(lines[number].lstrip())
    lines[number] = " " * indent + "pass"
    module = ModuleType(f"mutant_{name}_{number}")
    path = folder / f"{module.__name__}.py"
    path.write_text("\n".join(lines) + "\n")
    sys.modules[module.__name__] = module
    exec(compile(path.read_text(), str(path), "exec"), vars(module))  # noqa: S102
    return vars(module)["case"]()


@pytest.mark.parametrize(("name", "number"), mutations())
def test_each_missing_wait_or_sync_is_reported(name: str, number: int, tmp_path: Path) -> None:
    case = mutant(name, number, tmp_path)
    with pytest.raises((RaceError, UserError)) as caught:
        case.run(lambda program: program.check)
    assert f"mutant_{name}_{number}.py" in str(caught.value)


def numbers_of(name: str, begin: str) -> list[int]:
    """The lines of an example that begin so."""
    lines = (FOLDER / f"{name}.py").read_text().splitlines()
    return [number for number, line in enumerate(lines) if line.strip().startswith(begin)]


def simulated(case: Any, **options: Any) -> bool:
    """Whether a simulator notices: it faults, or the result is wrong."""
    from xtc import tile

    with NvgpuDevice(NvgpuOptions(**options)) as device:
        tile.use_device(device)
        try:
            case.run(lambda program: program)
        except (DeviceFault, AssertionError):
            return True
        finally:
            tile.use_device(None)
    return False


@pytest.mark.parametrize("name", ["matmul_async", "attention"])
def test_the_simulator_sees_a_missing_wait(name: str, tmp_path: Path) -> None:
    """What is copied holds poison until it is waited for."""
    for number in numbers_of(name, "self.copy_async_wait"):
        assert simulated(mutant(name, number, tmp_path))


def test_the_simulator_sees_a_missing_sync_in_some_order(tmp_path: Path) -> None:
    """In order, threads that share a tile may meet by chance; in a random order they do not."""
    for number in numbers_of("matmul_shared", "self.sync()"):
        assert any(
            simulated(mutant("matmul_shared", number, tmp_path), sim_schedule="shuffled", seed=seed)
            for seed in range(4)
        )
