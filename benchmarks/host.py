# SPDX-License-Identifier: Apache-2.0
"""Compares this project with common libraries, on this machine, in one interleaved run.

`make bench-host`, or a part of it: `make bench-host ARGS="--only 'matmul f32' --peers numpy,torch
--rounds 5 --budget 120"`. The first run installs the libraries, each into a separate environment
below the user's cache folder.

"xtc, tuned" takes part if a search has found a schedule. `--graphs FOLDER` writes the graphs for
it: run `xtc-tune FOLDER/....yaml --option threads=1`, and the same with the number of cores.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console

from benchmarks.console import wide_console
from benchmarks.harness import machine_facts
from benchmarks.peers.environments import default_folder
from benchmarks.peers.goals import verdicts
from benchmarks.peers.graphs import save_graph
from benchmarks.peers.libraries import LIBRARIES, Library
from benchmarks.peers.page import Report, save, why_no_plot
from benchmarks.peers.results import Row
from benchmarks.peers.run import Inputs, Settings, measure
from benchmarks.peers.table import print_rows, print_verdicts
from benchmarks.peers.team import Team, interpreters
from benchmarks.peers.workloads import Workload, workloads
from xtc.core.errors import ToolError, UserError, did_you_mean
from xtc.system.cores import usable_cores


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, save."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        chosen, libraries = _selected(options)
    except UserError as error:
        raise SystemExit(str(error)) from None
    if options.list:
        for workload in chosen:
            console.print(workload.name, markup=False)
        return
    if options.graphs is not None:
        for workload in chosen:
            path = save_graph(workload.as_dict(), options.graphs, options.seed)
            console.print(f"{workload.name}: {path}", markup=False)
        return
    settings = Settings(rounds=options.rounds, quiet_seconds=options.quiet, seed=options.seed)
    how = {**asdict(settings), "budget": options.budget}
    report = Report(settings=how, facts=machine_facts())
    try:
        _measure_all(report, chosen, libraries, settings, options, console)
    except KeyboardInterrupt:
        console.print("interrupted; what was measured is kept")
    _show(report, options, console)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench-host", description="Compare xtc with other libraries on this machine."
    )
    add = parser.add_argument
    add(
        "--only", default="", metavar="TEXT", help="workloads with TEXT in their name; A,B for more"
    )
    add("--peers", metavar="A,B", help="only these libraries, in addition to xtc")
    cores = sorted({1, usable_cores()})
    add("--threads", type=_counts, default=cores, metavar="N,M", help="default: 1 and all cores")
    add("--rounds", type=_positive, default=7, help="visits of each candidate (default: 7)")
    add("--budget", type=_positive, default=3600, metavar="SECONDS", help="time in all")
    add(
        "--quiet",
        type=float,
        default=0.1,
        metavar="SECONDS",
        help="wait so long for a quiet moment",
    )
    add("--seed", type=int, default=0, help="of the order and of the inputs")
    add("--goals", action="store_true", help="also print which goals this run met and missed")
    add("--list", action="store_true", help="only print the names of the workloads")
    add("--graphs", type=Path, metavar="FOLDER", help="only write the graphs there, for xtc-tune")
    add("--out", type=Path, default=Path("out"), help="folder of the results (default: out)")
    add("--environments", type=Path, default=default_folder(), help="folder of the environments")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not 1 or more")
    return value


def _counts(text: str) -> list[int]:
    return sorted({_positive(word) for word in text.split(",")})


def _selected(options: argparse.Namespace) -> tuple[list[Workload], list[Library]]:
    """The selected workloads and libraries. Raises UserError for unknown names."""
    parts = options.only.split(",")
    texts = [part.strip() for part in parts]
    chosen = [found for found in workloads() if any(text in found.name for text in texts)]
    if not chosen:
        raise UserError(
            f"no workload's name contains '{options.only}'",
            hints=["`make bench-host ARGS=--list` prints the names"],
        )
    peers = [library for library in LIBRARIES if not library.is_ours]
    wanted = {peer.name for peer in peers} if options.peers is None else _words(options.peers)
    for name in wanted - {library.name for library in LIBRARIES}:
        known = [library.name for library in peers]
        raise UserError(f"no library '{name}' is measured", hints=did_you_mean(name, known))
    return chosen, [library for library in LIBRARIES if library.is_ours or library.name in wanted]


def _words(text: str) -> set[str]:
    return {word.strip() for word in text.split(",") if word.strip()}


def _measure_all(
    report: Report,
    chosen: Sequence[Workload],
    libraries: Sequence[Library],
    settings: Settings,
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Fill the report: each workload on one thread, then on all cores, within the time budget.

    The time to install libraries is not counted.
    """
    pythons = interpreters(libraries, options.environments, console.print)
    end = time.monotonic() + options.budget
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-host-")))
        teams = [stack.enter_context(Team(pythons, count)) for count in options.threads]
        left = len(chosen) * len(teams)
        for workload in chosen:
            if time.monotonic() >= end:
                report.left_out.append(workload.name)
                continue
            inputs = Inputs(workload, folder, settings.seed)
            for team in teams:
                share = max(0.0, end - time.monotonic()) / left
                deadline = time.monotonic() + share
                marks = team.yardsticks(workload)
                row = measure(workload, inputs, team.candidates, marks, settings, deadline, end)
                report.rows.append(row)
                left -= 1
                console.print(_progress(row, left), markup=False)
        candidates = (candidate for team in teams for candidate in team.candidates)
        started = [candidate for candidate in candidates if candidate.versions]
        report.versions = {runner.library.name: runner.versions for runner in started}


def _progress(row: Row, left: int) -> str:
    """A summary of a row for the progress output."""
    ours, peer = row.rates("ours"), row.best_peer()
    parts = [f"{row.workload.name}, {row.threads} thread(s):"]
    parts.append(f"xtc {ours.median:.3g}," if ours else "xtc did not run,")
    parts.append(f"{peer[0]} {peer[1]:.3g}" if peer else "no library ran")
    return f"{' '.join(parts)} {row.workload.unit}; {left} to go"


def _show(report: Report, options: argparse.Namespace, console: Console) -> None:
    """Print the tables, and write the files to the folder."""
    print_rows(report.rows, console)
    for name in report.left_out:
        console.print(f"no time was left for {name}", markup=False)
    if options.goals:
        print_verdicts(list(verdicts(report.rows)), console)
    try:
        for path in save(report, options.out, options.environments):
            console.print(f"wrote {path}", markup=False)
    except ToolError as error:
        console.print(why_no_plot(error), markup=False)


if __name__ == "__main__":
    main()
