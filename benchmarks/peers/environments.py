# SPDX-License-Identifier: Apache-2.0
"""Virtual environments of the measured libraries, created once and kept in a cache folder.

An environment is identified by its requirements; an unfinished one is recreated.
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
    """The default folder of environments."""
    return Path(platformdirs.user_cache_dir("xtc", appauthor=False), "benchmark-environments")


def interpreter(name: str, requirements: Sequence[str], folder: Path) -> Path:
    """The Python of an environment with exactly these requirements, created if necessary.

    Raises ToolError with the installer's last output if it cannot be created.
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
    """The installer's line with the reason, for a table."""
    lines = [line.strip() for note in error.notes for line in note.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or [error.what])[-1][:200]
