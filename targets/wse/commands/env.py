# SPDX-License-Identifier: Apache-2.0
"""Print shell code that adds cslc and cs_python to the path: eval "$(xtc wse env)"."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

BIN = Path(__file__).parent.parent / "bin"
"""The folder to prepend to the path."""


def run(argv: Sequence[str]) -> int:
    """Run the command; return the exit code."""
    argparse.ArgumentParser(prog="xtc wse env", description=__doc__).parse_args(argv)
    lines = [
        f'export PATH={shlex.quote(str(BIN))}:"$PATH"',
        f"export WSE_PYTHON={shlex.quote(sys.executable)}",
    ]
    sys.stdout.write("\n".join([*lines, ""]))
    return 0
