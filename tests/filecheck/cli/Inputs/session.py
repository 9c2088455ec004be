# SPDX-License-Identifier: Apache-2.0
"""Runs commands one after the other in one process, as if typed in the folder of this file.

`cat FILE`, `ls FOLDER` and `cmp FILE FILE` look at what the commands wrote; of a folder, `cmp` takes
the last file by name.
"""

import contextlib
import os
import shlex
import sys
from pathlib import Path

from xtc.cli import compile, loop, opt, plot, run
from xtc.cli.common import guarded

COMMANDS = {
    "xtc-compile": compile.run,
    "xtc-loop": loop.run,
    "xtc-opt": opt.run,
    "xtc-plot": plot.run,
    "xtc-run": run.run,
}


def session(*lines: str) -> None:
    """Print each line as typed, then what it writes, then its exit code unless that is 0."""
    os.chdir(Path(__file__).parent)
    with contextlib.redirect_stderr(sys.stdout):
        for line in lines:
            print(f"$ {line}")
            program, *arguments = shlex.split(line)
            code = _exit_code(program, arguments)
            if code:
                print(f"exit code {code}")


def _exit_code(program: str, arguments: list[str]) -> int:
    if program == "cat":
        print(Path(arguments[0]).read_text())
    elif program == "ls":
        print(*sorted(path.name for path in Path(arguments[0]).iterdir()), sep="\n")
    elif program == "cmp":
        return int(len({_last(Path(argument)).read_bytes() for argument in arguments}) > 1)
    else:
        return _run(program, arguments)
    return 0


def _last(path: Path) -> Path:
    return max(path.iterdir()) if path.is_dir() else path


def _run(program: str, arguments: list[str]) -> int:
    sys.argv = [program, *arguments]
    try:
        return guarded(COMMANDS[program], program)
    except SystemExit as exit:  # from the parser of the options
        return int(exit.code or 0)
