# SPDX-License-Identifier: Apache-2.0
"""A run as files: JSON with every sample, a Markdown page, an SVG plot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import interpreter, reason
from benchmarks.peers.goals import verdicts
from benchmarks.peers.libraries import PLOT_REQUIREMENTS
from benchmarks.peers.results import Row
from benchmarks.peers.table import (
    DETAIL_HEADINGS,
    details,
    markdown_table,
    overview,
    remarks,
    summary,
    verdict_lines,
)
from xtc.core.errors import ToolError
from xtc.system import tool

_PLOT = Path(__file__).resolve().parents[1] / "workers" / "plot.py"
_PLOT_SECONDS = 120


@dataclass
class Report:
    """The results of one run.

    Attributes:
        rows: the measurements.
        versions: versions of the libraries, by candidate.
        left_out: workloads for which there was not enough time.
        settings: the settings of the measurement.
        facts: the machine, its load, the date.
    """

    rows: list[Row] = field(default_factory=list)
    versions: dict[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """JSON types."""
        return {
            "facts": dict(self.facts),
            "settings": dict(self.settings),
            "versions": {name: dict(versions) for name, versions in self.versions.items()},
            "left_out": self.left_out,
            "goals": [
                {
                    "what": verdict.goal.what,
                    "state": verdict.state,
                    "missed": [list(m) for m in verdict.missed],
                }
                for verdict in verdicts(self.rows)
            ],
            "rows": [row.as_dict() for row in self.rows],
        }

    def markdown(self) -> str:
        """The page, without the plot."""
        parts = ["# Beside other libraries on this machine", "", *self._how(), ""]
        for threads in dict.fromkeys(row.threads for row in self.rows):
            rows = [row for row in self.rows if row.threads == threads]
            parts += [f"## {threads} thread{'' if threads == 1 else 's'}: median (best)", ""]
            parts += [*markdown_table(*overview(rows)), "", summary(rows), ""]
        parts += ["## Goals", "", *verdict_lines(list(verdicts(self.rows))), ""]
        parts += ["## What did not run or was wrong", "", *self._remarks(), ""]
        for threads in dict.fromkeys(row.threads for row in self.rows):
            lines = [line for row in self.rows if row.threads == threads for line in details(row)]
            parts += [f"## Every candidate, {threads} thread{'' if threads == 1 else 's'}", ""]
            parts += [*markdown_table(DETAIL_HEADINGS, lines), ""]
        return "\n".join(parts)

    def _how(self) -> list[str]:
        facts = self.facts
        installed = ", ".join(
            f"{name} {version}"
            for versions in self.versions.values()
            for name, version in versions.items()
        )
        return [
            f"{facts['date']}, {facts['cpu']}, {facts['hardware_threads']} hardware threads, load"
            f" {facts['load_average'][0]:.2f} at the start, {facts['python']}; {installed}.",
            "",
            "Rates of medians, of best samples in brackets; a multiply-add is two operations. The",
            "machine has a rate of float32 multiply-adds (GFLOP/s) or memory traffic of the same",
            "size (GB/s: sum, copy or triad), on as many threads in the same rounds.",
            "Each library runs in a separate process and is called from Python on its own arrays,",
            "aligned to cache lines; the time includes the cost of the call.",
        ]

    def _remarks(self) -> list[str]:
        lines = [f"- {remark}" for remark in remarks(self.rows)]
        lines += [f"- no time was left for {name}" for name in self.left_out]
        return lines or ["Nothing."]


def save(report: Report, folder: Path, environments: Path) -> list[Path]:
    """Write the files; returns their paths. Without matplotlib there is no plot.

    Raises ToolError if the plot fails; the other files are written before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data, page, plot = (folder / f"bench-host.{suffix}" for suffix in ("json", "md", "svg"))
    _write(data, json.dumps(report.as_dict(), indent=1) + "\n")
    _write(page, report.markdown())
    plot.unlink(missing_ok=True)
    if not report.rows:
        return [data, page]
    python = interpreter("plot", PLOT_REQUIREMENTS, environments)
    tool.run(
        [python, _PLOT, data, plot],
        what="drawing the plot",
        install_hint="remove the folder of environments, so that they are created again",
        timeout=_PLOT_SECONDS,
    )
    return [data, page, plot]


def _write(path: Path, text: str) -> None:
    """Write a file atomically."""
    part = path.with_suffix(path.suffix + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def why_no_plot(error: ToolError) -> str:
    """One line for the terminal."""
    return f"{error.what}: {reason(error)}"
