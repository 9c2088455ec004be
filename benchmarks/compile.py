# SPDX-License-Identifier: Apache-2.0
"""Compile latency by phase: one 512-cube matmul, warm process, and the cold start of a process.

`make bench-compile`. Every time is also a ratio to `python -c pass`, measured in the same run.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

import xtc
import xtc.ops as O
from benchmarks.harness import print_table, run_interleaved, save

ROUNDS = 15
SCHEDULE = {"C": {"j": {}, "k": {}, "i": {}, "k#128": {}, "i#8": "unroll", "j#32": "vectorize"}}


def matmul() -> xtc.Graph:
    """One matmul of 512-cube float32."""
    a, b = O.tensor((512, 512), name="A"), O.tensor((512, 512), name="B")
    with O.graph(name="matmul") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


def compile_once(graph: xtc.Graph, phases: dict[str, list[float]], **options: object) -> None:
    """Compile, keeping the time of each phase."""
    with xtc.compile(graph, **options) as module:  # type: ignore[arg-type]
        for phase, seconds in module.compile_seconds.items():
            phases.setdefault(phase, []).append(seconds)


def process(code: str) -> Callable[[], None]:
    """Run Python code in a process of its own."""

    def run() -> None:
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603

    return run


def print_phases(title: str, phases: dict[str, list[float]]) -> None:
    """Median milliseconds of every phase."""
    table = Table(title=f"{title}: phases, median of {ROUNDS}")
    table.add_column("phase")
    table.add_column("ms", justify="right")
    for phase, samples in phases.items():
        table.add_row(phase, f"{statistics.median(samples) * 1e3:.2f}")
    total = sum(statistics.median(samples) for samples in phases.values())
    table.add_row("in all", f"{total * 1e3:.2f}")
    Console().print(table)


def main() -> None:
    """Print the tables and save the report."""
    graph = matmul()
    linked: dict[str, list[float]] = {}
    loaded: dict[str, list[float]] = {}
    scheduled: dict[str, list[float]] = {}
    candidates = {
        "python -c pass": process("pass"),
        "import xtc (cold process)": process("import xtc"),
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
    report = run_interleaved("compile", candidates, rounds=ROUNDS, baseline="python -c pass")
    print_table(report)
    print_phases("shared library", linked)
    print_phases("scheduled, in memory", scheduled)
    save(report, Path("out/bench-compile.json"))


if __name__ == "__main__":
    main()
