# SPDX-License-Identifier: Apache-2.0
"""The measurements of networks, and their tables."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from xtc.evaluate.units import seconds_text


@dataclass
class Row:
    """The measurements of one file on a number of threads.

    Attributes:
        name: name of the file.
        threads: number of threads of each engine.
        samples: seconds of calls, by engine.
        about: by engine, the cost of preparation: seconds, peak memory and artifact in bytes.
        failed: by engine, the reason why it does not run.
        differs: engines whose results differ from those of the first engine.
        slowest: the most expensive operators of this project, if another engine is faster.
    """

    name: str
    threads: int
    samples: dict[str, list[float]] = field(default_factory=dict)
    about: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    differs: list[str] = field(default_factory=list)
    slowest: list[str] = field(default_factory=list)

    def median(self, engine: str) -> float:
        """Median seconds per call."""
        return statistics.median(self.samples[engine])

    @property
    def best(self) -> str | None:
        """The fastest of the other engines."""
        others = [engine for engine in self.samples if engine != "xtc"]
        return min(others, key=self.median, default=None)

    @property
    def ratio(self) -> float:
        """Time of the best other engine over this project's: above 1, this project is faster."""
        if self.best is None or "xtc" not in self.samples:
            return 1.0
        return self.median(self.best) / self.median("xtc")

    def line(self) -> str:
        """The row as a line of text."""
        medians = [f"{engine} {seconds_text(self.median(engine))}" for engine in self.samples]
        failed = [f"{engine} failed: {why}" for engine, why in self.failed.items()]
        differs = [f"{engine} computes something else" for engine in self.differs]
        what = [*medians, *failed, *differs]
        return f"{self.name}, {self.threads}: {'; '.join(what)}; ratio {self.ratio:.2f}"

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON types."""
        return dict(vars(self))


def print_rows(rows: Sequence[Row], engines: Sequence[str], console: Console) -> None:
    """Print medians with the middle half of the samples, ratios, and preparation costs."""
    table = Table(title="a call in ms: median (middle half of the samples), float32, batch 1")
    others = [engine for engine in engines if engine != "xtc"]
    _head(table, ("network", "threads", *engines))
    for row in rows:
        table.add_row(row.name, str(row.threads), *(_cell(row, engine) for engine in engines))
    console.print(table)
    table = Table(title="time of others over ours; ours compiled cold")
    _head(table, ("network", "threads", *others, "compiled, s", "peak, MB", "artifact, MB"))
    for row in rows:
        table.add_row(
            row.name, str(row.threads), *(_ratio(row, name) for name in others), *_costs(row)
        )
    console.print(table)
    ratios = [row.ratio for row in rows if row.best and "xtc" in row.samples]
    if ratios:
        mean = statistics.geometric_mean(ratios)
        console.print(
            f"best other engine / xtc: geometric mean {mean:.2f}, least {min(ratios):.2f}"
        )


def _head(table: Table, headings: Sequence[str]) -> None:
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "network" else "right")


def _costs(row: Row) -> tuple[str, str, str]:
    about = row.about.get("xtc")
    if about is None:
        return "-", "-", "-"
    return f"{about['seconds']:.1f}", f"{about['peak'] / 1e6:.0f}", f"{about['artifact'] / 1e6:.0f}"


def print_slowest(rows: Sequence[Row], console: Console) -> None:
    """Print the most expensive operators of each row below 1."""
    for row in rows:
        if row.slowest:
            console.print(f"{row.name} on {row.threads}, {row.ratio:.2f} of {row.best}:")
            for line in row.slowest:
                console.print(f"  {line}", markup=False, highlight=False)


def _cell(row: Row, engine: str) -> str:
    if engine not in row.samples:
        return "-"
    low, high = (1e3 * float(value) for value in np.percentile(row.samples[engine], (25, 75)))
    return f"{1e3 * row.median(engine):.2f} ({low:.2f} - {high:.2f})"


def _ratio(row: Row, engine: str) -> str:
    if engine not in row.samples or "xtc" not in row.samples:
        return "-"
    return f"{row.median(engine) / row.median('xtc'):.2f}"
