# SPDX-License-Identifier: Apache-2.0
"""Locations in the user's source."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_OWN_PACKAGES = ("xtc", "xtc_passes", "xtc_targets")
_COMMANDS = "xtc.cli."


@dataclass(frozen=True)
class SourceLocation:
    """A file, a line (from 1) and, where known, a column (from 1).

    In a binary file such as a model, `name` is the entry's own name and `line` its number.
    """

    file: str
    line: int
    column: int | None = None
    name: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}"
        return where if self.column is None else f"{where}:{self.column}"


_written: ContextVar[SourceLocation | None] = ContextVar("written", default=None)


@contextmanager
def written_at(where: SourceLocation | None) -> Iterator[None]:
    """Within the block, `user_location` is `where`, the line whose deferred work runs."""
    token = _written.set(where)
    try:
        yield
    finally:
        _written.reset(token)


def user_location() -> SourceLocation | None:
    """The innermost caller outside this project's packages; None in a command."""
    if (written := _written.get()) is not None:
        return written
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame):
        if _module(frame).startswith(_COMMANDS):
            return None
        frame = frame.f_back
    if frame is None:
        return None
    return SourceLocation(shortened(frame.f_code.co_filename), frame.f_lineno)


def _is_own(frame: FrameType) -> bool:
    module = _module(frame)
    return module.split(".", 1)[0] in _OWN_PACKAGES or "contextlib" in module


def _module(frame: FrameType) -> str:
    """The module's name, even if it runs as `__main__`."""
    spec = frame.f_globals.get("__spec__")
    return str(getattr(spec, "name", None) or frame.f_globals.get("__name__", ""))


def shortened(file: str) -> str:
    """The path relative to the working directory if the file is below it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file
