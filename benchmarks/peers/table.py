# SPDX-License-Identifier: Apache-2.0
"""The results as text, one line per workload, for the terminal and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.peers.goals import Verdict
from benchmarks.peers.libraries import LIBRARIES, OURS
from benchmarks.peers.results import Rates, Row, geometric_mean

_TITLES = {library.name: library.title for library in LIBRARIES}
_STATES = {"met": "green", "missed": "red", "not measured": "dim"}


def columns(rows: Sequence[Row]) -> list[str]:
    """The candidates that ran in any row, in the listed order."""
    ran = {name for row in rows for name in row.timings}
    return [library.name for library in LIBRARIES if library.name in ran]


def overview(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Headings and lines: medians (best samples), the ratio to the best library, the fraction."""
    names = columns(rows)
    headings = ["workload", "unit", *(_TITLES[name] for name in names)]
    headings += ["machine", f"{OURS.title} / best library", f"{OURS.title} / machine"]
    return headings, [_line(row, names) for row in rows]


def _line(row: Row, names: Sequence[str]) -> list[str]:
    rates = [_cell(row, name) for name in names]
    machine = _short(row.machine) if row.machine else "-"
    return [
        row.workload.name,
        row.workload.unit,
        *rates,
        machine,
        _number(row.ratio()),
        _number(row.fraction()),
    ]


def _cell(row: Row, name: str) -> str:
    rates = row.rates(name)
    if rates is None:
        return "-"
    return f"{_short(rates)}{' WRONG' if name in row.wrong else ''}"


def _short(rates: Rates) -> str:
    return f"{rates.median:.3g} ({rates.best:.3g})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def remarks(rows: Sequence[Row]) -> Iterator[str]:
    """Candidates that did not run, with reasons, and wrong results; equal reasons are merged."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for kind, notes in (("did not run", row.absent), ("is WRONG", row.wrong)):
            for name, reason in notes.items():
                key = f"{_TITLES.get(name, name)} {kind}", reason
                reasons.setdefault(key, []).append(f"{row.workload.name} ({row.threads})")
    for (who, reason), cells in reasons.items():
        shown = ", ".join(cells[:3]) + (f" and {len(cells) - 3} more" if len(cells) > 3 else "")
        yield f"{who}: {reason} [{shown}]"


def summary(rows: Sequence[Row]) -> str:
    """The number of rows that this project wins, and the geometric mean of its ratios."""
    ratios = [ratio for row in rows if (ratio := row.ratio()) is not None]
    best = [ratio for row in rows if (ratio := row.ratio(kind="best")) is not None]
    if not ratios:
        return "no row has both this project and another library"
    won = sum(ratio >= 1 for ratio in ratios)
    quiet, visits = (sum(row.quiet[part] for row in rows) for part in (0, 1))
    disturbed = sum(row.is_disturbed for row in rows)
    return (
        f"{OURS.title} is at or above the best library in {won} of {len(ratios)} rows;"
        f" geometric mean of the ratios {_number(geometric_mean(ratios))}"
        f" ({_number(geometric_mean(best))} of best samples);"
        f" {quiet} of {visits} visits began while nothing else ran;"
        f" in {disturbed} rows less than half, so that no goal is judged by them"
    )


def print_rows(rows: Sequence[Row], console: Console) -> None:
    """Print one table per number of threads, then remarks."""
    for threads in dict.fromkeys(row.threads for row in rows):
        chosen = [row for row in rows if row.threads == threads]
        headings, lines = overview(chosen)
        table = Table(title=f"{threads} thread{'' if threads == 1 else 's'}: median (best)")
        for position, heading in enumerate(headings):
            table.add_column(heading, justify="left" if position < 2 else "right", overflow="fold")
        for line in lines:
            table.add_row(*line)
        console.print(table)
    for remark in remarks(rows):
        console.print(remark, markup=False)
    console.print(summary(rows), markup=False)


def print_verdicts(judged: Sequence[Verdict], console: Console) -> None:
    """Each goal with its state, and the values that missed it."""
    for verdict in judged:
        state = f"[{_STATES[verdict.state]}]{verdict.state}[/]"
        console.print(f"{state}: {verdict.goal.what}")
        for name, value in verdict.missed:
            console.print(f"    {value:.2f} {name}", markup=False)


def verdict_lines(judged: Sequence[Verdict]) -> list[str]:
    """The goals as Markdown."""
    lines = []
    for verdict in judged:
        lines.append(f"- **{verdict.state}**: {verdict.goal.what}")
        lines += [f"  - {value:.2f} {name}" for name, value in verdict.missed]
    return lines


def markdown_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, with numbers aligned to the right."""
    rule = ["---", "---", *["---:"] * (len(headings) - 2)]
    return [f"| {' | '.join(line)} |" for line in (headings, rule, *lines)]


def details(row: Row) -> list[list[str]]:
    """One line per candidate that ran, fastest first: median [p10..p90], best, ratios."""
    return [[row.workload.name, _TITLES[name], *_figures(row, name)] for name in row.names]


def _figures(row: Row, name: str) -> list[str]:
    rates: Any = row.rates(name)
    return [
        f"{rates.median:.4g}",
        f"{rates.p10:.4g}..{rates.p90:.4g}",
        f"{rates.best:.4g}",
        _number(row.ratio(name)),
        _number(row.fraction(name)),
        f"{row.build_seconds[name]:.2f}",
        "WRONG" if name in row.wrong else "",
    ]


DETAIL_HEADINGS = (
    "workload",
    "candidate",
    "median",
    "p10..p90",
    "best",
    "/ best library",
    "/ machine",
    "prepared in s",
    "",
)
