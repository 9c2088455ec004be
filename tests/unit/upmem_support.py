# SPDX-License-Identifier: Apache-2.0
"""`xtc upmem` in tests: the command runs in this process, and shares one cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from xtc.cli import main
from xtc.cli.common import guarded


@dataclass(frozen=True)
class Ended:
    """The output and the exit code of a command."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Ended]


@pytest.fixture(scope="session")
def native_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all commands: the simulator and the run-time library are compiled once."""
    return tmp_path_factory.mktemp("native")


@pytest.fixture
def upmem(
    native_cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """`upmem("run", ..., cwd=folder)` is `xtc upmem run ...` in that folder."""
    monkeypatch.setenv("XTC_CACHE", "1")
    monkeypatch.setenv("XTC_CACHE_DIR", str(native_cache))

    def command(*words: object, cwd: Path) -> Ended:
        monkeypatch.chdir(cwd)
        monkeypatch.setattr("sys.argv", ["xtc", "upmem", *map(str, words)])
        capfd.readouterr()
        code = guarded(main.run, "xtc")
        return Ended(code, *capfd.readouterr())

    return command
