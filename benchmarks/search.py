# SPDX-License-Identifier: Apache-2.0
"""The search: candidates per second, and the results of short searches and of a long random one.

`make bench-search`, or `make bench-search ARGS="--long 3600"` for an hour of random search. At the
end, the best schedules of all searches are measured again, interleaved, in one process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

import xtc
import xtc.ops as O
from benchmarks.console import wide_console
from xtc.search import Session, Settings, Store

ROUNDS = 20
SAMPLERS = ("evolutionary", "model", "random")


@dataclass(frozen=True)
class Found:
    """The result of a search.

    Attributes:
        label: sampler and seconds.
        rate: candidates compiled, checked and measured per second, except at its end.
        schedule: the best schedule.
        failures: number of failed candidates.
    """

    label: str
    rate: float
    schedule: str
    failures: int


def matmul_graph(rows: int, columns: int, depth: int) -> xtc.Graph:
    """One float32 matmul."""
    a, b = O.tensor((rows, depth), name="A"), O.tensor((depth, columns), name="B")
    with O.graph(name="product") as builder:
        O.matmul(a, b, name="C")
    return builder.graph


def search(graph: xtc.Graph, store: Store, settings: Settings, options: dict[str, Any]) -> Found:
    """Run one search; the time until the first result is that of starting its processes."""
    session = Session(graph, store, settings, options=options)
    run, progress = session.search()
    times = [result.at for result in store.results(run.number) if result.kind == "search"]
    rate = (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0
    schedule = progress.best.schedule if progress.best else ""
    label = f"{settings.sampler}, {settings.budget:g} s"
    return Found(label, rate, schedule, progress.failures)


def measured(graph: xtc.Graph, schedules: list[str], options: dict[str, Any]) -> list[float]:
    """The best time of each schedule in seconds, in interleaved rounds."""
    with ExitStack() as stack:
        modules = [
            stack.enter_context(xtc.compile(graph, schedule=schedule or None, **options))
            for schedule in schedules
        ]
        best = [float("inf")] * len(modules)
        for _ in range(ROUNDS):
            for index, module in enumerate(modules):
                timing = module.measure(repeat=3, min_repeat_ms=2).timing
                best[index] = min(best[index], timing.best)
    return best


def table(graph: xtc.Graph, found: list[Found], options: dict[str, Any]) -> Table:
    """A table with one row per search, and one for the default schedule."""
    default, *times = measured(graph, ["", *(result.schedule for result in found)], options)
    shown = Table(title=f"{graph.flops / 1e6:.0f} MFLOP: best of {ROUNDS} interleaved rounds")
    for column in ("search", "tried/s", "failed", "GFLOP/s", "of the longest", "schedule"):
        shown.add_column(column, justify="left" if column in ("search", "schedule") else "right")
    shown.add_row("default", "", "", f"{graph.flops / default / 1e9:.1f}", "", "")
    for result, seconds in zip(found, times, strict=True):
        shown.add_row(
            result.label,
            f"{result.rate:.1f}",
            str(result.failures),
            f"{graph.flops / seconds / 1e9:.1f}",
            f"{times[-1] / seconds:.3f}",
            result.schedule,
        )
    return shown


def main() -> None:
    """Run the searches and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, nargs=3, default=(256, 256, 512), metavar="N")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of the short searches")
    parser.add_argument("--long", type=float, help="seconds of a random search for comparison")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    graph, options, found = matmul_graph(*args.size), {"threads": args.threads}, []
    limits = {"budget": args.budget, "seed": args.seed}
    searches = [Settings(sampler=sampler, **limits) for sampler in SAMPLERS]
    if args.long is not None:
        searches.append(Settings(sampler="random", budget=args.long, seed=args.seed + 1))
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder, "tuning.db")) as store:
        for settings in searches:
            found.append(search(graph, store, settings, options))
    wide_console().print(table(graph, found, options))


if __name__ == "__main__":
    main()
