# SPDX-License-Identifier: Apache-2.0
"""Virtual environments of the libraries that are measured, made once and kept in a cache folder.

An environment is known by what is installed in it; one that was not finished is made anew.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import platformdirs
from filelock import FileLock

from xtc.core.errors import ToolError
from xtc.system import tool

INSTALL_SECONDS = 900
_READY = "ready"


def default_folder() -> Path:
    """Where environments are kept where nobody says otherwise."""
    return Path(platformdirs.user_cache_dir("xtc", appauthor=False), "benchmark-environments")


def interpreter(name: str, requirements: Sequence[str], folder: Path) -> Path:
    """The Python of an environment with exactly these requirements, made if it is not there.

    Raises ToolError with the installer's last words where it cannot be made.
    """
    if not requirements:
        return Path(sys.executable)
    folder.mkdir(parents=True, exist_ok=True)
    environment = folder.absolute() / f"{name}-{_fingerprint(requirements)}"
    python = environment / "bin" / "python"
    with FileLock(f"{environment}.lock"):
        if not (environment / _READY).is_file():
            shutil.rmtree(environment, ignore_errors=True)
            _make(environment, python, requirements)
            (environment / _READY).touch()
    return python


def _fingerprint(requirements: Sequence[str]) -> str:
    text = "\n".join([*sorted(requirements), sys.version])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _make(environment: Path, python: Path, requirements: Sequence[str]) -> None:
    what = f"making the environment of {', '.join(requirements)}"
    hint = "install Python with its venv module"
    tool.run([sys.executable, "-m", "venv", environment], what=what, install_hint=hint, timeout=120)
    install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--no-input"]
    install += requirements
    tool.run(install, what=what, install_hint=hint, timeout=INSTALL_SECONDS)


def reason(error: ToolError) -> str:
    """The line of the installer that says why, for a table."""
    lines = [line.strip() for note in error.notes for line in note.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or [error.what])[-1][:200]
