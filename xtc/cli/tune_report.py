# SPDX-License-Identifier: Apache-2.0
"""The output of `xtc-tune`: a run's outcome, the list of runs, and results as CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence

from xtc.evaluate.units import time_unit
from xtc.search.records import MODELLED, Result, Run
from xtc.search.store import Store

_COLUMNS = (
    "number",
    "kind",
    "status",
    "seconds",
    "median",
    "gflops",
    "compile_seconds",
    "at",
    "worker",
    "schedule",
    "message",
)
_NOTHING_MEASURED = "the time limit ended the run before its first measurement; see --budget"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def time_text(seconds: float) -> str:
    """A time with four digits and a unit."""
    length, symbol = time_unit(seconds)
    return f"{seconds / length:.4g} {symbol}"


def outcome_text(run: Run, results: Sequence[Result]) -> str:
    """The outcome of a run: its counts, the default schedule, and the best one."""
    counts = Counter(result.status for result in results)
    failed = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()) if status != "ok")
    rate = len(results) / run.seconds if run.seconds else 0.0
    lines = [
        f"run {run.number}: {len(results)} measurements in {run.seconds:.1f} s ({rate:.1f}/s)"
        f"; failed: {failed or 'none'}"
    ]
    right = [result for result in results if result.seconds is not None]
    unscheduled = [result.seconds for result in right if not result.schedule and result.seconds]
    default = min(unscheduled, default=None)
    if default is not None:
        lines.append(f"default  {_rate_text(run, default)}")
    if not right:
        lines.append("no candidate is correct" if results else _NOTHING_MEASURED)
        return "\n".join(lines) + "\n"
    best = min(right, key=lambda result: result.seconds or 0.0)
    gain = f"  {default / best.seconds:.2f} x default" if default and best.seconds else ""
    lines.append(f"best     {_rate_text(run, best.seconds or 0.0)}{gain}")
    lines.append(best.schedule or "the default schedule is the best")
    lines.append('use it: xtc.compile(graph, schedule="tuned"), or --schedule tuned')
    return "\n".join(lines) + "\n"


def replay_text(run: Run, results: Sequence[Result]) -> str:
    """The replayed measurements of a run, beside those of the search."""
    lines = [f"run {run.number}: best sample of the search, best and median of the replay"]
    replayed = [result for result in results if result.kind == "replay"]
    for schedule in dict.fromkeys(result.schedule for result in replayed):
        of_schedule = [result for result in results if result.schedule == schedule]
        searched = [
            result.seconds for result in of_schedule if result.kind == "search" and result.seconds
        ]
        last = [result for result in of_schedule if result.kind == "replay"][-1]
        before = time_text(min(searched)) if searched else "-"
        if last.seconds is None or last.median is None:
            now = last.status
        else:
            now = f"{time_text(last.seconds)}, {time_text(last.median)}"
        lines.append(f"  {before} -> {now}  {schedule or 'default'}")
    return "\n".join(lines) + "\n"


def runs_text(store: Store) -> str:
    """One line for each run."""
    lines = []
    for run in store.runs():
        results = store.results(run.number)
        right = [result for result in results if result.seconds is not None]
        best = result_text(min(right, key=_seconds)) if right else "nothing right"
        is_modelled = any(result.kind == MODELLED for result in results)
        what = "estimates" if is_modelled else "measurements"
        state = "" if run.finished else ", not finished"
        lines.append(
            f"{run.number}: {run.name} on {run.target} {run.options}, "
            f"{run.strategy}, {run.sampler} seed {run.seed}, {run.started}: "
            f"{len(results)} {what} in {run.seconds:.0f} s, best {best}{state}"
        )
    return "".join(f"{line}\n" for line in lines) or "no runs\n"


def results_text(run: Run, results: Sequence[Result]) -> str:
    """One line for each candidate of a run, the fastest first, failed ones last."""
    lines = [f"run {run.number}: {run.name} on {run.target} {run.options}, {run.machine}"]
    for result in sorted(results, key=lambda each: (each.seconds is None, _seconds(each))):
        cause = f": {result.message}" if result.message else ""
        lines.append(f"  {result_text(result)}  {result.schedule or 'default'}{cause}")
    return "".join(f"{line}\n" for line in lines)


def result_text(result: Result) -> str:
    """The time of a result, marked if it is modelled; the cause if it failed."""
    if result.seconds is None:
        return result.status
    label = f" ({MODELLED})" if result.kind == MODELLED else ""
    return f"{time_text(result.seconds)}{label}"


def _seconds(result: Result) -> float:
    return result.seconds or 0.0


def csv_text(run: Run, results: Sequence[Result]) -> str:
    """The results as CSV with a column per parameter; no cell is a spreadsheet formula."""
    names = sorted({name for result in results for name in result.parameters})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_cell(heading) for heading in (*_COLUMNS, *names)])
    for result in results:
        seconds = result.seconds
        values = {
            **{name: getattr(result, name) for name in _COLUMNS if name != "gflops"},
            "gflops": run.flops / seconds / 1e9 if seconds else None,
        }
        row = [values[name] for name in _COLUMNS]
        writer.writerow([_cell(v) for v in (*row, *(result.parameters.get(n) for n in names))])
    return text.getvalue()


def _cell(value: object) -> object:
    """The value; text that a spreadsheet would evaluate gets an apostrophe in front."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _rate_text(run: Run, seconds: float) -> str:
    parts = [f"{time_text(seconds):<9}"]
    if run.flops:
        rate = run.flops / seconds
        parts.append(f"{rate / 1e9:.4g} GFLOP/s")
        if run.peak:
            parts.append(f"{rate / run.peak:.2f} of the FMA peak")
    return "  ".join(parts)
