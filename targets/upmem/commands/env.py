# SPDX-License-Identifier: Apache-2.0
"""Run a command in an environment with UPMEM's compiler, headers, library and Python package."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from xtc.core.errors import UserError
from xtc.system.workspace import private_folder
from xtc_targets.upmem.commands._child import ended
from xtc_targets.upmem.description import PROFILES
from xtc_targets.upmem.toolchain.environment import environment

_DEBUGGER = (
    "there is no debugger: a fault names tasklet, line and address; printf, `xtc upmem profile` "
    "and XTC_UPMEM_STRICT=1 show more"
)


def run(argv: Sequence[str]) -> int:
    """Run the command after `--`; returns its exit code. Raises XtcError."""
    words = list(argv)
    at = words.index("--") if "--" in words else len(words)
    options = _parser().parse_args(words[:at])
    command = words[at + 1 :]
    if not command:
        raise UserError("there is no command to run", hints=["write: xtc upmem env -- make all"])
    settings = {
        "XTC_UPMEM_REPORT": str(options.report.absolute()) if options.report else "",
        "XTC_UPMEM_LINES": "1" if options.report else "",
    }
    if options.profile:
        settings["XTC_UPMEM_PROFILE"] = options.profile
    with private_folder("upmem-") as folder:
        variables = environment(Path(folder), settings)
        program = shutil.which(command[0], path=variables["PATH"])
        if program is None:
            hints = [_DEBUGGER] if command[0] in ("dpu-lldb", "lldb", "dpugrind") else []
            raise UserError(f"there is no program '{command[0]}'", hints=hints)
        return ended([program, *command[1:]], variables)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xtc upmem env",
        usage="xtc upmem env [--profile P] [--report FILE] -- COMMAND ...",
        description="Run a command, such as make, with dpu-upmem-dpurte-clang, dpu-pkg-config, "
        "the headers, the library and Python's package dpu.",
    )
    parser.add_argument("--profile", choices=[*PROFILES], help="version of the chip")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write a report of the run as JSON"
    )
    return parser
