# SPDX-License-Identifier: Apache-2.0
"""Keeps blocks in documents that show what a command prints true.

Such a block is a fence below a comment with the command, run in the repository's root, of which
`sed` may choose lines:

    <!-- shows: xtc-compile examples/matmul.py --stage source | sed -n 2,5p -->
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
from xtc.cli import compile, opt, run
from xtc.core.errors import UserError


def apart(command: str, arguments: Sequence[str]) -> int:
    """Print what a command prints that forks, which a process that has run MLIR must not."""
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
}
BLOCK = re.compile(
    r"(?P<head><!-- shows: (?P<command>[^\n]*?)(?: \| sed -n (?P<first>\d+),(?P<last>\d+)p)? -->\n"
    r"```\w*\n)(?P<body>.*?)(?P<tail>^```$)",
    re.DOTALL | re.MULTILINE,
)


def output_of(command: str, root: Path) -> str:
    """What one of our commands prints in the folder `root`."""
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
    """The document with each block as its command prints it now."""

    def renew(block: re.Match[str]) -> str:
        lines = output_of(block["command"], root).splitlines()
        if block["first"]:
            lines = lines[int(block["first"]) - 1 : int(block["last"])]
        body = "".join(f"{line}\n" for line in lines)
        return f"{block['head']}{body}{block['tail']}"

    return BLOCK.sub(renew, text)


def stale_documents(root: Path) -> list[Path]:
    """The documents with a block that its command no longer prints."""
    return [path for path in documents(root) if renewed(path.read_text(), root) != path.read_text()]


def renew_documents(root: Path) -> list[Path]:
    """Write the stale documents anew; returns them."""
    stale = stale_documents(root)
    for path in stale:
        path.write_text(renewed(path.read_text(), root))
    return stale
