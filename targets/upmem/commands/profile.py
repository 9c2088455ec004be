# SPDX-License-Identifier: Apache-2.0
"""Print the instructions and stalls of each source line in a report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xtc.core.errors import UserError
from xtc_targets.upmem.commands._report import read_report


def run(argv: Sequence[str]) -> int:
    """Print the table; returns the exit code. Raises XtcError."""
    parser = argparse.ArgumentParser(
        prog="xtc upmem profile",
        description="Print the instructions of all tasklets and DPUs by source line, and the "
        "modelled cycles that tasklets wait there for DMA and for each other, beyond the pipeline.",
    )
    parser.add_argument("report", type=Path, help="a report of xtc upmem run --report")
    parser.add_argument(
        "--lines", type=int, default=20, metavar="N", help="lines to print (default: %(default)s)"
    )
    options = parser.parse_args(argv)
    lines = by_line(read_report(options.report)["lines"])
    if not lines:
        raise UserError("the report has no lines: no program ran to its end")
    total = sum(issued for issued, _ in lines.values())
    print(f"{'instructions':>14} {'share':>6} {'modelled stalls':>16}  line")
    for (program, file, line), (issued, stalled) in list(lines.items())[: options.lines]:
        location = f"{file}:{line}" if file and line else file or "(routines)"
        print(f"{issued:14,} {issued / max(total, 1):6.1%} {stalled:16,}  {program} {location}")
    return 0


def by_line(counts: list[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Instructions and stalled cycles by program, file and line, in descending order."""
    found: dict[tuple[str, str, int], tuple[int, int]] = {}
    for count in counts:
        key = (count["program"], count["file"], count["line"])
        issued, stalled = found.get(key, (0, 0))
        found[key] = (issued + count["issued"], stalled + count["modelled_stall_cycles"])
    return dict(sorted(found.items(), key=lambda item: -sum(item[1])))
