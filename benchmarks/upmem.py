# SPDX-License-Identifier: Apache-2.0
"""Generated DPU code against handwritten programs, in the same simulator: modelled cycles.

Also the speed of the simulator, and the modelled times of the programs against those of hardware,
if a file of measured times is given: make bench-upmem ARGS=--hardware=FILE.csv
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import xtc
import xtc.ops as O
from xtc_targets.upmem import UpmemDevice

PROGRAMS = Path(__file__).parent / "upmem"
TASKLETS = 16
# Program, size of its blocks (log 2), further arguments, by the name in tables of measured times.
MEASURED = {
    "VA": ("add", 10, ()),
    "GEMV": ("gemv", 10, (64,)),
    "RED": ("reduce", 10, ()),
    "SCAN-RSS": ("scan_rss", 10, ()),
    "SCAN-SSA": ("scan", 10, ()),
    "SEL": ("select", 10, ()),
    "UNI": ("unique", 10, ()),
    "HST-S": ("histogram", 10, ()),
    "HST-L": ("histogram_shared", 8, ()),
}


def run_by_hand(name: str, block: int, *arguments: object, profile: str = "v1B") -> dict[str, Any]:
    """Run a handwritten program; returns its report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        words = ["run", "--dpu", "dpu=dpu.c", "--tasklets", TASKLETS, "--profile", profile]
        words += ["--report", report, f"-DBLOCK={block}", "-I..", "host.c", "--", *arguments]
        argv = [sys.executable, "-m", "xtc.cli.main", "upmem", *map(str, words)]
        subprocess.run(argv, cwd=PROGRAMS / name, check=True, capture_output=True)  # noqa: S603
        found: dict[str, Any] = json.loads(report.read_text())
    return found


def cycles_by_hand(name: str, *arguments: object) -> int:
    return sum(
        launch["modelled_cycles"] for launch in run_by_hand(name, 10, *arguments)["launches"]
    )


def cycles_of_graph(graph: xtc.Graph) -> int:
    """Modelled cycles of all launches of a graph on one DPU, with checked results."""
    with UpmemDevice(tasklets=TASKLETS) as dpu, xtc.compile(graph, target=dpu) as module:
        found = module.check(*inputs_of(graph))
        if not all(result.ok for result in found):
            raise SystemExit(f"{graph.name}: wrong results")
        return int(dpu.counters()["modelled.upmem.CYCLES"])


def inputs_of(graph: xtc.Graph) -> list[Any]:
    """Numbers below 50, as in the handwritten programs: their multiplications are fast."""
    random = np.random.default_rng(1)
    return [random.integers(0, 50, [int(n) for n in x.shape]).astype(x.dtype) for x in graph.inputs]


def add_graph(elements: int) -> xtc.Graph:
    a, b = (O.tensor((elements,), "int32", name=name) for name in "ab")
    with O.graph(name="add") as graph:
        O.add(a, b, name="c")
    return graph.graph


def gemv_graph(rows: int, columns: int, dtype: str) -> xtc.Graph:
    a, x = O.tensor((rows, columns), dtype, name="a"), O.tensor((columns,), dtype, name="x")
    with O.graph(name=f"gemv_{dtype}") as graph:
        O.gemv(a, x, name="y")
    return graph.graph


def reduce_graph(elements: int) -> xtc.Graph:
    a = O.tensor((elements,), "int64", name="a")
    with O.graph(name="reduce") as graph:
        O.reduce_sum(a, name="s")
    return graph.graph


def compare() -> None:
    """Hand-written against generated."""
    int8 = cycles_of_graph(gemv_graph(1024, 256, "int8"))
    int32 = cycles_of_graph(gemv_graph(1024, 256, "int32"))
    rows = [
        ("add int32", cycles_by_hand("add", 1, 65536), cycles_of_graph(add_graph(65536))),
        ("gemv int32", cycles_by_hand("gemv", 1, 1024, 256), int32),
        ("reduce int64", cycles_by_hand("reduce", 1, 65536), cycles_of_graph(reduce_graph(65536))),
        ("gemv int8 (beside int32)", int32, int8),
    ]
    print(f"{'modelled cycles, one DPU':28} {'by hand':>12} {'generated':>12} {'faster':>8}")
    for name, by_hand, generated in rows:
        print(f"{name:28} {by_hand:12,} {generated:12,} {by_hand / generated:7.2f}x")


def simulated_speed() -> None:
    """Simulated instructions per second of CPU time."""
    os.environ["XTC_UPMEM_THREADS"] = "1"  # noqa: TID251
    run_by_hand("histogram", 10, 1, 1000)  # compiles the parts that are compiled once
    spent = []
    for elements in (200_000, 8_200_000):
        before = _seconds_of_children()
        report = run_by_hand("histogram", 10, 1, elements)
        instructions = sum(launch["instructions"] for launch in report["launches"])
        spent.append((instructions, _seconds_of_children() - before))
    (few, start), (many, end) = spent
    print(f"simulator: {(many - few) / (end - start) / 1e6:.0f} MIPS with one thread")


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def against_hardware(path: Path) -> None:
    """Print the error of modelled kernel times, by program and in total."""
    errors: dict[str, list[float]] = {}
    for row in csv.DictReader(path.open()):
        if row["benchmark"] not in MEASURED:
            continue
        size, dpus = int(row["data_prep_param"]), int(row["num_dpus"])
        name, block, more = MEASURED[row["benchmark"]]
        report = run_by_hand(name, block, dpus, size, *more, profile="v1A")
        modelled = sum(launch["modelled_seconds"] for launch in report["launches"]) * 1e3
        measured = float(row["hw_kernel"])
        errors.setdefault(row["benchmark"], []).append(abs(modelled / measured - 1))
        print(
            f"{row['benchmark']:9} {dpus:3} DPUs {size:8}: {measured:8.3f} ms, "
            f"modelled {modelled:8.3f} ms, {modelled / measured:.2f}",
            flush=True,
        )
    for name, found in {
        **errors,
        "all": [each for some in errors.values() for each in some],
    }.items():
        print(f"mean absolute error, {name:9}: {sum(found) / len(found):6.1%} of {len(found)} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hardware", type=Path, help="CSV of measured times")
    options = parser.parse_args()
    compare()
    simulated_speed()
    if options.hardware:
        against_hardware(options.hardware)


if __name__ == "__main__":
    main()
