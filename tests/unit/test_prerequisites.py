# SPDX-License-Identifier: Apache-2.0
"""`make venv` reports missing prerequisites."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "prerequisites.sh"
PYTHON = """case "$2" in
  *print*) echo {version};;
  *sys.exit*) exit {too_old};;
  *ensurepip*) exit {without_venv};;
esac"""
GOOD = PYTHON.format(version="3.12", too_old=0, without_venv=0)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of programs: everything the script itself needs, a good Python and compiler."""
    for tool in ("mktemp", "rm", "cat"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    program(tmp_path, "python3", GOOD)
    program(tmp_path, "cc", "cat >/dev/null")
    return tmp_path


def program(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def run(machine: Path, **environment: str) -> tuple[int, str]:
    ran = subprocess.run(
        ["/bin/sh", str(SCRIPT)],
        env={"PATH": str(machine), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == ""
    return ran.returncode, ran.stderr


def test_a_complete_machine_passes(machine: Path) -> None:
    assert run(machine) == (0, "")


def test_a_missing_python_is_reported(machine: Path) -> None:
    (machine / "python3").unlink()
    code, message = run(machine)
    assert code == 1
    assert "missing: Python ('python3' is not there)" in message


def test_an_old_python_is_reported(machine: Path) -> None:
    program(machine, "python3", PYTHON.format(version="3.9", too_old=1, without_venv=0))
    code, message = run(machine)
    assert code == 1
    assert "missing: Python 3.10 or newer ('python3' is 3.9;" in message


def test_a_missing_venv_module_is_reported(machine: Path) -> None:
    program(machine, "python3", PYTHON.format(version="3.12", too_old=0, without_venv=1))
    code, message = run(machine)
    assert code == 1
    assert "apt install python3.12-venv" in message


@pytest.mark.parametrize("body", [None, "cat >/dev/null; exit 1"], ids=["absent", "broken"])
def test_a_missing_compiler_is_reported(machine: Path, body: str | None) -> None:
    (machine / "cc").unlink()
    if body:
        program(machine, "cc", body)
    code, message = run(machine)
    assert code == 1
    assert "missing: a C compiler that works ('cc';" in message


def test_another_compiler_can_be_named(machine: Path) -> None:
    (machine / "cc").rename(machine / "clang")
    assert run(machine, XTC_CC="clang") == (0, "")


def test_all_missing_prerequisites_are_reported_together(machine: Path) -> None:
    (machine / "python3").unlink()
    (machine / "cc").unlink()
    assert run(machine)[1].count("missing: ") == 2
