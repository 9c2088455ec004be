# SPDX-License-Identifier: Apache-2.0
"""Platform hw: the vendor's compiler and library, replaced by stand-ins that record calls."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.upmem_support import Command, native_cache, upmem
from xtc.core.errors import DeviceNotFound
from xtc_targets.upmem import UpmemDevice
from xtc_targets.upmem.toolchain.clang import unavailable
from xtc_targets.upmem.toolchain.environment import environment
from xtc_targets.upmem.toolchain.vendor import COMPILER, VendorKit

__all__ = ["native_cache", "upmem"]  # fixtures

needs_compiler = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
ADD = Path(__file__).parents[2] / "benchmarks" / "upmem" / "add"


@pytest.fixture
def kit(tmp_path: Path, upmem: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path with the kit's programs, which call the simulator's; `calls` logs each call."""
    installed, calls = tmp_path / "kit", tmp_path / "calls"
    for name, value in environment(installed, {}).items():
        monkeypatch.setenv(name, value)
    programs = installed / "bin"
    (programs / COMPILER).rename(programs / "real")
    script = f'#!/bin/sh\necho "{COMPILER} $*" >> {calls}\nexec {programs}/real "$@"\n'
    (programs / COMPILER).write_text(script)
    (programs / COMPILER).chmod(0o755)
    return calls


def recorded(calls: Path) -> list[list[str]]:
    """The command lines, without folders and without version queries."""
    lines = [line.split() for line in calls.read_text().splitlines()]
    return [[Path(w).name if "/" in w else w for w in line] for line in lines if len(line) > 2]


def test_the_command_line_of_the_compiler() -> None:
    kit = VendorKit("/opt/upmem/bin/dpu-upmem-dpurte-clang", "/opt/upmem/bin/dpu-pkg-config")
    command = kit.command([Path("a.c"), Path("b.c")], Path("p.elf"), "v1A", ["-DNR_TASKLETS=16"])
    assert " ".join(command) == (
        "/opt/upmem/bin/dpu-upmem-dpurte-clang -mcpu=v1A -DNR_TASKLETS=16 -o p.elf a.c b.c"
    )


def test_a_missing_kit_names_both_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    with (
        UpmemDevice(platform="hw") as device,
        pytest.raises(DeviceNotFound, match="dpu-upmem-dpurte-clang and dpu-pkg-config"),
    ):
        device.init_device()


@pytest.mark.slow
@needs_compiler
def test_a_graph_is_built_and_run_by_the_kit(kit: Path) -> None:
    with UpmemDevice(nr_dpus=3, platform="hw", profile="v1A", tasklets=12) as dpus:
        a = O.tensor((20, 6), "int32", name="a")
        with O.graph(name="twice") as graph:
            O.add(a, a, device=dpus, name="c")
        with xtc.compile(graph.graph) as module:
            values = np.arange(120, dtype=np.int32).reshape(20, 6)
            assert np.array_equal(np.asarray(module(values)), 2 * values)
        assert not dpus.is_modelled
    flags = "-O2 -funroll-loops -fwrapv -ffp-contract=off -fno-strict-aliasing -fno-builtin -w"
    (line,) = recorded(kit)
    assert " ".join(line[:-3]) == (
        f"{COMPILER} -mcpu=v1A {flags} -DNR_TASKLETS=12 -DSTACK_SIZE_DEFAULT=768"
    )
    assert [Path(word).suffix for word in line[-3:]] == ["", ".elf", ".c"]


@pytest.mark.slow
@needs_compiler
def test_a_program_is_built_and_run_by_the_kit(kit: Path, upmem: Command, tmp_path: Path) -> None:
    shutil.copytree(ADD.parent, tmp_path / "sources")
    words = ("--dpu", "dpu=dpu.c", "--tasklets", 11, "-DBLOCK=10", "-I..", "host.c")
    done = upmem("run", "--platform", "hw", *words, cwd=tmp_path / "sources" / "add")
    assert (done.returncode, done.stdout) == (0, "add: all results are right\n"), done.stderr
    (line,) = recorded(kit)
    assert " ".join(line) == (
        f"{COMPILER} -mcpu=v1B -DBLOCK=10 -I.. -DNR_TASKLETS=11 -DSTACK_SIZE_DEFAULT=1024 "
        "-o dpu dpu.c"
    )


def test_a_report_needs_the_simulator(upmem: Command, tmp_path: Path) -> None:
    words = ("--dpu", "dpu=dpu.c", "--platform", "hw", "--report", "r.json", "host.c")
    done = upmem("run", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert "--report needs the simulator" in done.stderr
    assert not [*tmp_path.iterdir()]
