# SPDX-License-Identifier: Apache-2.0
"""Fibers of simulators: saved state, capacity, and stack overflow."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from xtc.runtime.native import CSRC, NativeUnit, compile_unit

SOURCES = (Path(__file__).parent / "fibers.c", CSRC / "sim_fiber.c")
ROUNDS = "".join(f"round {number}: 5 fibers ended\n" for number in range(3))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    unit = NativeUnit("fibers", "program", SOURCES, flags=("-Werror", "-Wno-infinite-recursion"))
    return compile_unit(unit, tmp_path_factory.mktemp("fibers"))


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("stacks", ["pool", "own"])
def test_fibers_preserve_their_variables(program: Path, stacks: str) -> None:
    done = run(program, stacks)
    assert (done.returncode, done.stdout) == (0, ROUNDS)


@pytest.mark.slow
def test_the_stack_of_an_ended_fiber_is_reused(program: Path) -> None:
    done = run(program, "replaced")
    assert (done.returncode, done.stdout) == (0, "fiber 0\nfiber 1\nfiber 2\n2 stacks\n")


@pytest.mark.slow
def test_sixteen_thousand_fit_one_process(program: Path) -> None:
    done = run(program, "many")
    assert (done.stdout, done.stderr) == ("16384 fibers ended\n", "")


@pytest.mark.slow
def test_a_stack_overflow_is_a_fault(program: Path) -> None:
    assert run(program, "overflow").returncode == -signal.SIGSEGV


def test_a_missing_stack_is_reported(program: Path) -> None:
    done = run(program, "endless")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "no memory for the stack of another fiber: Cannot allocate memory"
    )


@pytest.mark.parametrize("stacks", ["pool", "own"])
def test_fibers_on_aarch64_preserve_their_variables(tmp_path: Path, stacks: str) -> None:
    compiler, emulator = (shutil.which(name) for name in ("aarch64-linux-gnu-gcc", "qemu-aarch64"))
    if compiler is None or emulator is None:
        pytest.skip("needs aarch64-linux-gnu-gcc and qemu-aarch64")
    flags = ("-static", "-O2", "-std=gnu11", f"-I{CSRC}", "-o", str(tmp_path / "fibers"))
    assert run(compiler, *flags, *SOURCES).stderr == ""
    assert run(emulator, tmp_path / "fibers", stacks).stdout == ROUNDS
