# SPDX-License-Identifier: Apache-2.0
"""The project's exceptions, each with the mistake, its location, notes and hints."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from xtc.core.location import SourceLocation

_LISTED = 50  # limit of the names in a hint
_CLOSE = 0.65  # similarity of a name that may have been meant: 'tma' is not close to 'softmax'


class XtcError(Exception):
    """The base of every error this project raises on purpose.

    Args:
        what: one sentence that names the thing at fault and its value.
        where: the user's own line, or a file; printed first.
        notes: facts that help to see the cause.
        hints: what to write instead.
    """

    def __init__(
        self,
        what: str,
        *,
        where: SourceLocation | Path | str | None = None,
        notes: Sequence[str] = (),
        hints: Sequence[str] = (),
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.notes = tuple(notes)
        self.hints = tuple(hints)

    def __str__(self) -> str:
        first = self.what if self.where is None else f"{self.where}: {self.what}"
        lines = [first]
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  hint: {hint}" for hint in self.hints]
        return "\n".join(lines)


class UserError(XtcError):
    """A mistake in the user's program or command; no partial result is left behind."""


class LayoutOperationError(UserError, RuntimeError):
    """No layout satisfies an operation on layouts."""


class ToolError(XtcError):
    """An external program is missing or failed; quotes the program's own message."""


class CompileError(XtcError):
    """A pass, the translation or the code generator failed; has diagnostics and a reproducer."""


class ChildDied(CompileError):  # noqa: N818
    """A child process crashed, or was stopped at its time or memory limit."""


class ChildTimeout(ChildDied):
    """A child process was stopped at its time limit."""


class ArtifactError(XtcError):
    """A stored artifact is missing, incomplete or does not match its manifest."""


class DeviceError(XtcError):
    """The base of device errors.

    Attributes:
        line: the number, in the device's code, of the user's line; 0 if it is unknown.
    """

    line = 0


class DeviceNotFound(DeviceError):  # noqa: N818  users read the name: it states the event, without a suffix
    """The device, its driver or its SDK is missing; lists the locations searched."""


class DeviceMemoryError(DeviceError):
    """Out of memory on a device, or on the host for temporary arrays; a copy out of bounds."""


class DeviceFault(DeviceError):  # noqa: N818
    """A kernel violated a rule of the machine; names kernel, coordinates and address."""


class DeviceTimeout(DeviceError):  # noqa: N818
    """A kernel or a wait exceeded its time limit."""


class DeviceLost(DeviceError):  # noqa: N818
    """The device or its simulator process is gone."""


class LaunchError(DeviceError):
    """A kernel could not be started: unknown function, bad arguments, bad grid."""


def did_you_mean(name: str, known: Iterable[str]) -> list[str]:
    """Hints for a misspelled `name`: the closest known name, or all names if they are few."""
    choices = sorted(known)
    if close := close_match(name, choices):
        return close
    if len(choices) > _LISTED:
        some = difflib.get_close_matches(name, choices, n=5, cutoff=0) or choices[:5]
        return [f"one of {len(choices)}, such as: {', '.join(some)}"]
    return [f"one of: {', '.join(choices)}"] if choices else []


def close_match(name: str, known: Iterable[str]) -> list[str]:
    """A hint with the known name closest to `name`; empty if no name is close."""
    close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=_CLOSE)
    return [f"did you mean '{close[0]}'?"] if close else []


@contextmanager
def located(where: SourceLocation | Path | str | None) -> Iterator[None]:
    """Give errors raised in the block this location, unless they have one."""
    try:
        yield
    except XtcError as error:
        error.where = error.where or where
        raise


@contextmanager
def about(name: str) -> Iterator[None]:
    """Give errors raised in the block this name as their subject, unless they have one."""
    try:
        yield
    except XtcError as error:
        if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", error.what):
            error.what = f"{name}: {error.what}"
        raise


def shown(value: object) -> str:
    """A value as text for messages, truncated; Python refuses to print very large integers."""
    try:
        text = repr(value)
    except ValueError:
        return f"<{type(value).__name__} of too many digits>"
    return text if len(text) <= 80 else f"{text[:77]}..."
