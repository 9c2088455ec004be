# SPDX-License-Identifier: Apache-2.0
"""Runs external programs, with logging, timing and error reports."""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xtc.core.errors import ToolError

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CompletedTool:
    """The output of a successful program, and its wall time in seconds."""

    stdout: str
    stderr: str
    seconds: float


def run(
    argv: Sequence[str | Path],
    *,
    what: str,
    install_hint: str,
    timeout: float | None = None,
    cwd: Path | None = None,
    input: str | None = None,
) -> CompletedTool:
    """Run a program to completion, without a shell or a terminal.

    The program and its children are killed at `timeout` or if this call is interrupted.

    Args:
        argv: the program, a name looked up in PATH or a path, and its arguments.
        what: the action, which is the subject of errors ("linking libmatmul.so").
        install_hint: how to install the program, for the error if it is missing.
        timeout: the wall-time limit in seconds; None for no limit.
        cwd: the folder it runs in; None for the current one.
        input: the text on its standard input; None for an empty one.

    Raises:
        ToolError: the program is missing, failed (with its output, exit code and command line) or
            exceeded its timeout.
    """
    words = [str(word) for word in argv]
    _log.debug("%s: %s", what, shlex.join(words))
    start = time.perf_counter()
    process = _start(words, what, install_hint, cwd)
    stdout, stderr = _finish(process, words, what, timeout, input)
    seconds = time.perf_counter() - start
    _log.debug("%s: exit code %d after %.3f s", what, process.returncode, seconds)
    if process.returncode:
        raise _failed(words, what, ending_of(process.returncode), stderr or stdout)
    return CompletedTool(stdout, stderr, seconds)


def _start(
    words: list[str], what: str, install_hint: str, cwd: Path | None
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(  # noqa: S603  an argument list from our own code, no shell
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            cwd=cwd,
            start_new_session=True,  # a new process group, so that its children die with it
        )
    except OSError as error:
        raise _not_started(words, what, install_hint, cwd, error) from error


def _finish(
    process: subprocess.Popen[str],
    words: list[str],
    what: str,
    timeout: float | None,
    input: str | None,
) -> tuple[str, str]:
    with process:
        try:
            return process.communicate(input, timeout)
        except subprocess.TimeoutExpired as expired:
            _kill_group(process)
            ending = f"did not end within {timeout:g} s and was killed"
            raise _failed(words, what, ending, _remaining_output(process)) from expired
        except BaseException:
            _kill_group(process)
            raise


def _kill_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # already gone
        os.killpg(process.pid, signal.SIGKILL)


def _remaining_output(process: subprocess.Popen[str]) -> str:
    """The output of a killed program; a child outside its group may still hold the pipe."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.communicate(timeout=1)[1]
    return ""


def _not_started(
    words: list[str], what: str, install_hint: str, cwd: Path | None, error: OSError
) -> ToolError:
    if cwd is not None and not cwd.is_dir():
        return ToolError(f"{what} failed: the folder {cwd} to run {words[0]} in does not exist")
    if shutil.which(words[0]) is None:
        return ToolError(
            f"{what} needs the program '{words[0]}', which was not found", hints=[install_hint]
        )
    return ToolError(f"{what} failed: cannot start {words[0]}", notes=[str(error)])


def ending_of(code: int) -> str:
    """How a program ended, from its exit code in `subprocess`."""
    if code > 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


def _failed(words: list[str], what: str, ending: str, said: str) -> ToolError:
    notes = [f"command: {shlex.join(words)}"]
    if said.strip():
        notes.append(f"output of {words[0]}:\n{said.rstrip()}")
    return ToolError(f"{what} failed: {words[0]} {ending}", notes=notes)
