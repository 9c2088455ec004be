# SPDX-License-Identifier: Apache-2.0
"""Compile latency: every kind of operator with its default schedule, one matmul by phase, the cold
start of a process, and whole networks.

`make bench-compile`; `make bench-compile ARGS="--networks resnet50 vit_s"` for networks only, all
of them if none is named; `ARGS=--long` for graphs of up to thousands of nodes only. Every time is
also given as a ratio to `python -c pass`, measured in the same run. At the end, medians are
compared with their limits.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

import xtc
import xtc.ops as O
from benchmarks.console import wide_console
from benchmarks.harness import Report, print_table, run_interleaved, save
from benchmarks.long_graphs import print_long_graphs
from benchmarks.networks import NETWORKS
from benchmarks.networks.compiled import compile_all, print_compiled, save_compiled
from benchmarks.peers.graphs import graph_of, sample_inputs
from benchmarks.peers.workloads import workloads
from xtc.evaluate.units import seconds_text

ROUNDS = 15
OPERATOR_ROUNDS = 7
BARE = "python -c pass"
IMPORT = "import xtc (cold process)"
FIRST = "import xtc and compile (cold process)"
IMPORT_SECONDS = 0.4
OPERATOR_SECONDS = 0.3
# Workloads of benchmarks/peers/workloads.py: one of each kind.
OPERATORS = (
    "matmul f32 512x512x512",
    "matmul f32 1000x1000x1000",
    "matmul f32 1x4096x4096",
    "matmul f32 12x128x64x128",
    "matmul bf16 512x512x512",
    "matmul int8 512x512x512",
    "conv f32 56x56x64 3x3 64 /1 relu",
    "conv f32 56x56x64 1x1 64 /1 relu",
    "depthwise f32 56x56x128 3x3 /1 relu",
    "softmax f32 1024x1024",
    "layer_norm f32 512x1024",
    "chain f32 2^22",
    "reduce_sum f32 2^22",
)
_FIRST = """
import xtc
import xtc.ops as O
a, b = O.tensor((512, 512)), O.tensor((512, 512))
with O.graph(name="matmul") as gb:
    O.matmul(a, b)
xtc.compile(gb.graph, cache=False)
"""
SCHEDULE = {"C": {"j": {}, "k": {}, "i": {}, "k#128": {}, "i#8": "unroll", "j#32": "vectorize"}}


def matmul() -> xtc.Graph:
    """One matmul of 512-cube float32."""
    a, b = O.tensor((512, 512), name="A"), O.tensor((512, 512), name="B")
    with O.graph(name="matmul") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


def compile_once(graph: xtc.Graph, phases: dict[str, list[float]], **options: object) -> None:
    """Compile, and record the time of each phase."""
    with xtc.compile(graph, **options) as module:
        for phase, seconds in module.compile_seconds.items():
            phases.setdefault(phase, []).append(seconds)


def process(code: str) -> Callable[[], None]:
    """Run Python code in a separate process."""

    def run() -> None:
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603

    return run


def operators() -> dict[str, xtc.Graph]:
    """A graph of each kind, with its weights."""
    known = {workload.name: workload.as_dict() for workload in workloads()}
    return {name: graph_of(known[name], sample_inputs(known[name])) for name in OPERATORS}


def compiling(graph: xtc.Graph) -> Callable[[], None]:
    """Compile as users do, without options and without the cache."""
    return lambda: xtc.compile(graph, cache=False).close()


def print_limits(title: str, report: Report, limits: dict[str, float]) -> None:
    """Print whether medians are within their limits."""
    table = Table(title=title)
    for heading in ("", "median", "at most", ""):
        table.add_column(heading)
    for name, limit in limits.items():
        median = report.timings[name].median
        state = "met" if median <= limit else "missed"
        table.add_row(name, seconds_text(median), seconds_text(limit), state)
    wide_console().print(table)


def print_phases(title: str, phases: dict[str, list[float]]) -> None:
    """Median milliseconds of every phase."""
    table = Table(title=f"{title}: phases, median of {ROUNDS}")
    table.add_column("phase")
    table.add_column("ms", justify="right")
    for phase, samples in phases.items():
        table.add_row(phase, f"{statistics.median(samples) * 1e3:.2f}")
    total = sum(statistics.median(samples) for samples in phases.values())
    table.add_row("in all", f"{total * 1e3:.2f}")
    wide_console().print(table)


def networks(names: Sequence[str]) -> None:
    """Print and save the cost of compiling networks."""
    found = compile_all(names or NETWORKS)
    print_compiled(found)
    save_compiled(found, Path("out/bench-compile-networks.json"))


def main() -> None:
    """Print the tables and save the reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="*", choices=list(NETWORKS), help="these alone")
    parser.add_argument("--long", action="store_true", help="graphs of many nodes alone")
    given = parser.parse_args()
    if given.long:
        print_long_graphs()
        return
    chosen = given.networks
    if chosen is None:
        operators_and_processes()
    networks(chosen or [])


def operators_and_processes() -> None:
    """Print and save the cost of compiling operators and of starting processes."""
    graph = matmul()
    linked: dict[str, list[float]] = {}
    loaded: dict[str, list[float]] = {}
    scheduled: dict[str, list[float]] = {}
    candidates = {
        BARE: process("pass"),
        IMPORT: process("import xtc"),
        FIRST: process(_FIRST),
        "shared library": lambda: compile_once(graph, linked, cache=False),
        "in memory": lambda: compile_once(graph, loaded, in_memory=True),
        "scheduled, in memory": lambda: compile_once(
            graph, scheduled, in_memory=True, schedule=SCHEDULE
        ),
    }
    for name, run in candidates.items():
        if "cold" not in name and "python" not in name:
            run()  # type: ignore[no-untyped-call]
    for phases in (linked, loaded, scheduled):
        phases.clear()
    report = run_interleaved("compile", candidates, rounds=ROUNDS, baseline=BARE)
    print_table(report)
    print_phases("shared library", linked)
    print_phases("scheduled, in memory", scheduled)
    save(report, Path("out/bench-compile.json"))
    graphs = {name: compiling(operator) for name, operator in operators().items()}
    kinds = run_interleaved(
        "operators", {BARE: process("pass"), **graphs}, rounds=OPERATOR_ROUNDS, baseline=BARE
    )
    print_table(kinds)
    save(kinds, Path("out/bench-compile-operators.json"))
    print_limits("cold import", report, {IMPORT: IMPORT_SECONDS})
    print_limits("compiling an operator", kinds, dict.fromkeys(graphs, OPERATOR_SECONDS))


if __name__ == "__main__":
    main()
