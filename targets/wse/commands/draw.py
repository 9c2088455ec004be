# SPDX-License-Identifier: Apache-2.0
"""Draw the fabric of a compiled program with the routes of each color, as SVG."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from xtc_targets.wse.drawing import fabric_svg
from xtc_targets.wse.output import read_about


def run(argv: Sequence[str]) -> int:
    """Run the command; return the exit code. Raises UserError."""
    parser = argparse.ArgumentParser(prog="xtc wse draw", description=__doc__)
    parser.add_argument("folder", type=Path, help="an output folder of cslc")
    parser.add_argument("-o", "--output", type=Path, help="SVG file (default: standard output)")
    given = parser.parse_args(argv)
    picture = fabric_svg(read_about(given.folder))
    if given.output is None:
        sys.stdout.write(picture)
    else:
        given.output.write_text(picture)
    return 0
