# SPDX-License-Identifier: Apache-2.0
"""Runs rows of a benchmark in processes that may die: a fault makes a GPU unusable for its process.

A process runs rows one after another, and ends with the first one that fails. Another process runs
those that are left. A row that takes too long ends its process.
"""

from __future__ import annotations

import faulthandler
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.console import wide_console

ROW_SECONDS = 150.0
_LINES = 8  # of a message, at most
say = wide_console().print


def conduct(command: Sequence[str], names: Sequence[str], seconds: float) -> dict[str, str]:
    """Run rows by `command`, which gets a file and the names; returns the causes of failures.

    Prints nothing. After `seconds` no other row begins, and one that runs is ended.
    """
    failed: dict[str, str] = {}
    left, end = list(names), time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="xtc-bench-") as folder:
        file = Path(folder, "rows")
        while left:
            file.write_text("")
            how = _waited_for([*command, str(file), *left], end - time.monotonic())
            told = [json.loads(line) for line in file.read_text().splitlines()]
            done = {each["row"]: each["cause"] for each in told if "cause" in each}
            running = [each["row"] for each in told if each["row"] not in done]
            failed |= {name: cause for name, cause in done.items() if cause}
            failed |= dict.fromkeys(running, how)
            left = [name for name in left if name not in done and name not in running]
            if not told or time.monotonic() > end:
                return failed | dict.fromkeys(left, how)
    return failed


def _waited_for(command: Sequence[str], seconds: float) -> str:
    """Run a process; returns how it ended."""
    try:
        status = subprocess.run(command, timeout=max(seconds, 0), check=False).returncode  # noqa: S603
    except subprocess.TimeoutExpired:
        return "no time was left"
    return f"its process ended with status {status}"


def run_rows(rows: Mapping[str, Callable[[], Any]], names: Sequence[str], file: Path) -> None:
    """Run rows until one fails, and write to `file` what has begun, and what has ended how."""
    for name in names:
        _note(file, {"row": name})
        faulthandler.dump_traceback_later(ROW_SECONDS, exit=True, file=2)
        try:
            rows[name]()
            cause = ""
        except Exception as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            cause = "\n  ".join(
                [f"{type(error).__name__}: {' '.join(lines[:1])}", *lines[1:_LINES]]
            )
        finally:
            faulthandler.cancel_dump_traceback_later()
        _note(file, {"row": name, "cause": cause})
        if cause:
            say(f"{name}: FAILED: {cause}", highlight=False, markup=False)
            return


def _note(file: Path, told: Mapping[str, str]) -> None:
    with file.open("a") as opened:
        print(json.dumps(told), file=opened)


def this_script(script: str) -> list[str]:
    """The command that runs a script again, whose output is not held back."""
    return [sys.executable, "-u", str(Path(script).resolve()), "--rows"]
