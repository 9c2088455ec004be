# SPDX-License-Identifier: Apache-2.0
"""Turn a report into a timeline for Perfetto and browsers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xtc_targets.upmem.commands._report import read_report

_MICROSECONDS = 1e6


def run(argv: Sequence[str]) -> int:
    """Write the timeline; returns the exit code. Raises XtcError."""
    parser = argparse.ArgumentParser(
        prog="xtc upmem trace",
        description="Write the modelled times of a report as a trace for Perfetto "
        "(ui.perfetto.dev): jobs, active tasklets and DMA utilization of each rank.",
    )
    parser.add_argument("report", type=Path, help="a report of xtc upmem run --report")
    parser.add_argument(
        "-o", "--output", type=Path, help="file for the trace (default: standard output)"
    )
    options = parser.parse_args(argv)
    text = json.dumps({"traceEvents": events(read_report(options.report))}, indent=1)
    if options.output is None:
        sys.stdout.write(text + "\n")
    else:
        options.output.write_text(text)
    return 0


def events(report: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The events of a trace: a set of DPUs is a process, and each of its ranks a thread."""
    ranks = sorted({(event["set"], event["rank"]) for event in report["events"]})
    named = [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": owner,
            "tid": rank,
            "args": {"name": f"rank {rank} (modelled)"},
        }
        for owner, rank in ranks
    ]
    spans = [
        {
            "ph": "X",
            "name": event["name"],
            "pid": event["set"],
            "tid": event["rank"],
            "ts": event["begin"] * _MICROSECONDS,
            "dur": (event["end"] - event["begin"]) * _MICROSECONDS,
        }
        for event in report["events"]
    ]
    return [*named, *spans, *(event for launch in report["launches"] for event in _counted(launch))]


def _counted(launch: dict[str, Any]) -> list[dict[str, Any]]:
    """Counters of a launch: active tasklets, and the share of time in which DMA is busy."""
    cycles = launch["modelled_cycles"] * launch["dpus"]
    busy = 100 * launch["modelled_dma_cycles"] / cycles if cycles else 0.0
    counts = {
        "tasklets of DPUs (modelled)": launch["tasklets"] * launch["dpus"],
        "% of cycles in which DMA is busy (modelled)": round(busy, 1),
    }
    return [
        {
            "ph": "C",
            "name": name,
            "pid": launch["set"],
            "ts": launch[when] * _MICROSECONDS,
            "args": {launch["program"]: count if when == "modelled_begin" else 0},
        }
        for name, count in counts.items()
        for when in ("modelled_begin", "modelled_end")
    ]
