# SPDX-License-Identifier: Apache-2.0
"""`cs_python`: runs a Python program that uses the vendor's host library.

Options of this command precede the program's file: `--schedule=shuffled`, `--seed=N`,
`--trace=FILE`, `--cycle-limit=N`, `--timeout=SECONDS`.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from xtc.core.errors import XtcError
from xtc_targets.wse.sdk import settings

PACKAGES = Path(__file__).parent / "python"
"""The private folder of the package `cerebras`."""


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    for index, word in enumerate(argv):
        if not word.startswith("-"):
            return list(argv[:index]), list(argv[index:])
    return list(argv), []


def _settings(argv: Sequence[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="cs_python", description=__doc__, allow_abbrev=False)
    parser.add_argument("--schedule", choices=["ordered", "shuffled"])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--cycle-limit", type=int)
    parser.add_argument("--timeout", type=float, dest="timeout_s")
    parser.add_argument("file", nargs="?", help="the program, then its own arguments")
    given = vars(parser.parse_args(argv))
    return {name: value for name, value in given.items() if value is not None}


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    own, program = _split(sys.argv[1:] if argv is None else argv)
    settings.give(**_settings(own))
    if not program:
        print("cs_python: error: no program is given", file=sys.stderr)
        return 2
    sys.path.insert(0, str(PACKAGES))
    sys.path.insert(0, str(Path(program[0]).resolve().parent))
    sys.argv = program
    try:
        runpy.run_path(program[0], run_name="__main__")
    except XtcError as error:
        print(f"cs_python: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
