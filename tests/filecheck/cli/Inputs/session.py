# SPDX-License-Identifier: Apache-2.0
"""Runs commands one after the other in one process, as if typed in the folder of this file."""

import contextlib
import os
import shlex
import sys
from pathlib import Path

from xtc.cli import compile, opt, run
from xtc.cli.common import guarded

COMMANDS = {"xtc-compile": compile.run, "xtc-opt": opt.run, "xtc-run": run.run}


def session(*lines: str) -> None:
    """Print each line as typed, then what it writes, then its exit code unless that is 0."""
    os.chdir(Path(__file__).parent)
    with contextlib.redirect_stderr(sys.stdout):
        for line in lines:
            print(f"$ {line}")
            program, *sys.argv[1:] = shlex.split(line)
            code = _exit_code(program)
            if code:
                print(f"exit code {code}")


def _exit_code(program: str) -> int:
    try:
        return guarded(COMMANDS[program], program)
    except SystemExit as exit:  # from the parser of the options
        return int(exit.code or 0)
