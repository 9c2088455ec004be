# SPDX-License-Identifier: Apache-2.0
"""Errors name the user's line, and none for a command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import xtc.ops as O
from xtc.core.errors import UserError
from xtc.core.location import SourceLocation, user_location

MISTAKE = "import xtc.ops as O\nO.tensor((0,))\n"


def test_the_location_is_the_callers_line() -> None:
    where, line = user_location(), sys._getframe().f_lineno
    assert where is not None
    assert where.file.endswith("test_location.py")
    assert where.line == line


def test_frames_of_xtc_are_skipped() -> None:
    with pytest.raises(UserError) as failure:
        O.tensor((0,) if (line := sys._getframe().f_lineno) else ())
    assert str(failure.value.where).endswith(f"test_location.py:{line}")


@pytest.mark.slow
def test_a_script_has_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "graph.py").write_text(MISTAKE)
    done = subprocess.run(
        [sys.executable, "graph.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "graph.py:2: dimension 0 of shape (0,) is 0" in done.stderr


@pytest.mark.slow
def test_a_command_has_no_location(tmp_path: Path) -> None:
    graph = "import xtc.ops as O\nwith O.graph() as graph:\n    O.relu(O.tensor((4,)))\n"
    (tmp_path / "graph.py").write_text(graph)
    command = [sys.executable, "-m", "xtc.cli.compile", "graph.py", "--schedule", "@gone.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr.startswith("xtc-compile: error: cannot read gone.yaml")


@pytest.mark.parametrize(
    ("where", "text"), [(("a.py", 3), "a.py:3"), (("a.yaml", 3, 7), "a.yaml:3:7")]
)
def test_a_location_prints_as_file_and_line(where: tuple[str, int], text: str) -> None:
    assert str(SourceLocation(*where)) == text
