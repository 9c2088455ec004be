# SPDX-License-Identifier: Apache-2.0
"""Keeps the blocks of documents that show the output of commands up to date.

Such a block is a fence below a comment with the command, run in the repository's root. `sed`
can select lines, by numbers or from the first match to the next match of another pattern:

    <!-- shows: xtc-compile examples/matmul.py --stage source | sed -n 2,5p -->
    <!-- shows: xtc-compile examples/matmul.py --stage source | sed -n '/@product/,/return/p' -->
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.document_paths import documents
from xtc.cli import compile, opt, run, tune
from xtc.core.errors import UserError


def apart(command: str, arguments: Sequence[str]) -> int:
    """Print the output of a command that forks: a process that has run MLIR must not fork."""
    words = [sys.executable, "-m", f"xtc.cli.{command}", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise UserError(f"xtc-{command} {' '.join(arguments)} failed", notes=[done.stderr])
    sys.stdout.write(done.stdout)
    return 0


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "xtc-compile": compile.run,
    "xtc-loop": lambda arguments: apart("loop", arguments),
    "xtc-opt": opt.run,
    "xtc-run": run.run,
    "xtc-tune": tune.run,
}
BLOCK = re.compile(
    r"(?P<head><!-- shows: (?P<command>[^\n]*?)"
    r"(?: \| sed -n (?P<first>\d+),(?P<last>\d+)p"
    r"| \| sed -n '/(?P<begin>[^/\n]+)/,/(?P<end>[^/\n]+)/p')? -->\n"
    r"```\w*\n)(?P<body>.*?)(?P<tail>^```$)",
    re.DOTALL | re.MULTILINE,
)


def output_of(command: str, root: Path) -> str:
    """The output of one of the project's commands in the folder `root`."""
    program, *arguments = shlex.split(command)
    printed = io.StringIO()
    before = Path.cwd()
    os.chdir(root)
    try:
        with contextlib.redirect_stdout(printed):
            COMMANDS[program](arguments)
    finally:
        os.chdir(before)
    return printed.getvalue()


def renewed(text: str, root: Path) -> str:
    """The document with the current output in each block."""

    def renew(block: re.Match[str]) -> str:
        lines = _chosen(output_of(block["command"], root).splitlines(), block)
        body = "".join(f"{line}\n" for line in lines)
        return f"{block['head']}{body}{block['tail']}"

    return BLOCK.sub(renew, text)


def _chosen(lines: list[str], block: re.Match[str]) -> list[str]:
    if block["first"]:
        return lines[int(block["first"]) - 1 : int(block["last"])]
    if not block["begin"]:
        return lines
    first = _find(block["begin"], lines, 0)
    return lines[first : _find(block["end"], lines, first + 1) + 1]


def _find(pattern: str, lines: list[str], start: int) -> int:
    found = (at for at, line in enumerate(lines) if at >= start and re.search(pattern, line))
    if (at := next(found, None)) is None:
        raise ValueError(f"no line matches {pattern!r}")
    return at


def stale_documents(root: Path) -> list[Path]:
    """The documents with an outdated block."""
    return [path for path in documents(root) if renewed(path.read_text(), root) != path.read_text()]


def renew_documents(root: Path) -> list[Path]:
    """Rewrite the outdated documents; returns them."""
    stale = stale_documents(root)
    for path in stale:
        path.write_text(renewed(path.read_text(), root))
    return stale
