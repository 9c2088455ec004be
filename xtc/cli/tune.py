# SPDX-License-Identifier: Apache-2.0
"""xtc-tune: search for fast schedules for a graph, or list the results of searches."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from xtc.cli.common import (
    add_load_option,
    add_sized_graph,
    add_target_options,
    chosen_graph,
    guarded,
    parse_dims,
    parse_options,
    parse_values,
    read_graph,
    write_output,
)
from xtc.cli.tune_progress import TuneProgress
from xtc.cli.tune_report import csv_text, outcome_text, replay_text, results_text, runs_text
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.search.builtin import NAMES
from xtc.search.network import is_network, tune_network
from xtc.search.plan import make_space
from xtc.search.samplers import SAMPLERS
from xtc.search.session import Session, Settings
from xtc.search.store import Store

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
_GIB = 1 << 30


def _parser() -> argparse.ArgumentParser:
    usual = Settings()
    parser = argparse.ArgumentParser(
        prog="xtc-tune",
        description="Search for fast schedules for a graph; `schedule='tuned'` uses the best one.",
    )
    add = parser.add_argument
    add_sized_graph(parser)
    add_target_options(parser)
    add_load_option(parser)
    add("--budget", help="time limit, such as 90s, 5m or 1h (default: 60s)")
    add("--trials", type=int, help="the largest number of candidates")
    add("--strategy", help=f"{', '.join(NAMES)}, or FILE.yaml (default: auto)")
    add("--operator", help="tune only this operator")
    add("--whole", action="store_true", help="measure the whole network from the start")
    add("--sampler", help=f"{', '.join(SAMPLERS)}, or FILE.csv (default: {usual.sampler})")
    add("--seed", type=int, help="seed of sampler and sample data (default: 0)")
    add("--jobs", "-j", type=int, help="processes that compile (default: cores less one, 2 to 4)")
    add("--workers", help="number of measuring processes, or dask://host:port")
    add("--db", type=Path, help="the database (default: the user's own, or XTC_TUNING_DB)")
    add("--run", type=int, metavar="N", help="the run for --resume, --replay, --csv and --list")
    add("--resume", action="store_true", help="continue a run of this graph")
    add("--replay", type=int, metavar="COUNT", help="measure the best candidates of a run again")
    add("--csv", type=Path, metavar="FILE", help="write the results of a run as CSV")
    add("--list", action="store_true", help="list the runs of the database, or results of --run")
    add("--show", action="store_true", help="print the strategy as YAML without searching")
    add("--quiet", "-q", action="store_true", help="show no progress")
    for option, limit, unit, what in (
        ("--compile-timeout", usual.compile_seconds, "SECONDS", "time limit of a compilation"),
        ("--run-timeout", usual.run_seconds, "SECONDS", "time limit of checks and measurements"),
        ("--memory-limit", usual.memory_bytes / _GIB, "GIB", "memory limit of a process"),
    ):
        add(option, type=float, default=limit, metavar=unit, help=f"{what} (default: %(default)g)")
    return parser


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code. Raises XtcError."""
    args = _parser().parse_args(argv)
    if args.graph is None and args.op is None:
        return _list_or_export(args)
    settings, options = _settings(args), parse_options(args.option, args.target)
    graph = read_graph(chosen_graph(args), parse_dims(args.dim), parse_values(args.value))
    if args.resume or args.replay is not None:
        _check_fixed_options(args)
    if args.show:
        compilation = prepare(graph, args.target, **options)
        space = make_space(compilation, settings.strategy, settings.operator)
        sys.stdout.write(space.text)
        return 0
    with Store(args.db) as store:
        return _search(Session(graph, store, settings, args.target, options), args)


def _check_fixed_options(args: argparse.Namespace) -> None:
    """Raise UserError for an option that a run fixed at its start."""
    for name in ("strategy", "operator", "sampler", "seed"):
        if getattr(args, name) is not None:
            raise UserError(f"--{name} is that of the run, which cannot be changed")


def _search(session: Session, args: argparse.Namespace) -> int:
    """Run the search; exit code 1 if no candidate was correct."""
    store, more = session.store, _seconds(args.budget)
    with TuneProgress(quiet=args.quiet) as shown:
        if args.replay is not None:
            found, _ = session.replay(args.run, args.replay, shown.report)
        elif args.resume:
            found, _ = session.resume(args.run, more, shown.report)
        elif _by_operators(session, args):
            found, _ = tune_network(session, shown.report, shown.done)
        else:
            found, _ = session.search(shown.report)
    found = store.run(found.number)
    results = store.results(found.number)
    if args.csv is not None:
        _write_csv(args.csv, store, found.number)
    if args.replay is not None:
        sys.stdout.write(replay_text(found, results))
    else:
        sys.stdout.write(outcome_text(found, results))
    return 0 if any(result.seconds is not None for result in results) else 1


def _by_operators(session: Session, args: argparse.Namespace) -> bool:
    """Whether to tune each kind of operator separately: the default for networks."""
    asked = args.whole or args.operator or args.strategy or args.workers
    return not asked and is_network(session.graph)


def _list_or_export(args: argparse.Namespace) -> int:
    """The actions without a graph: listing and export."""
    if not args.list and args.csv is None:
        raise UserError("no graph is given", hints=["xtc-tune graph.py, or --list, or --csv FILE"])
    with Store(args.db, create=False) as store:
        if args.csv is not None:
            _write_csv(args.csv, store, store.run(args.run).number)
        if args.list and args.run is None:
            sys.stdout.write(runs_text(store))
        elif args.list:
            run = store.run(args.run)
            sys.stdout.write(results_text(run, store.results(run.number)))
    return 0


def _write_csv(path: Path, store: Store, number: int) -> None:
    write_output(csv_text(store.run(number), store.results(number)), path)


def _settings(args: argparse.Namespace) -> Settings:
    usual, strategy = Settings(), args.strategy or "auto"
    is_file = strategy not in NAMES and strategy.endswith((".yaml", ".yml"))
    budget = _seconds(args.budget)
    unlimited = budget is None and args.trials is not None
    return Settings(
        strategy=Path(strategy) if is_file else strategy,
        operator=args.operator,
        sampler=args.sampler or usual.sampler,
        seed=args.seed or 0,
        budget=None if unlimited else usual.budget if budget is None else budget,
        trials=args.trials,
        jobs=args.jobs,
        workers=args.workers,
        compile_seconds=args.compile_timeout,
        run_seconds=args.run_timeout,
        memory_bytes=int(args.memory_limit * _GIB),
    )


def _seconds(text: str | None) -> float | None:
    """Seconds in `90`, `90s`, `5m`, `1h`. Raises UserError."""
    if text is None:
        return None
    match = _DURATION.fullmatch(text.strip())
    if match is None or match[2] not in _UNITS:
        raise UserError(f"{text!r} is not a time", hints=["write 90s, 5m or 1h"])
    return float(match[1]) * _UNITS[match[2]]


def main() -> int:
    """Entry point of `xtc-tune`."""
    return guarded(run, "xtc-tune")


if __name__ == "__main__":
    sys.exit(main())
