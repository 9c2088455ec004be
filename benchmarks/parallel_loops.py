# SPDX-License-Identifier: Apache-2.0
"""The cost and gain of parallel loops: an empty loop, an elementwise operator, two matmuls.

`make bench-parallel_loops`. One thread is a plain loop without the pool. The pool's threads spin
for a moment after a loop (XTC_SPIN_US), so that a loop soon after another one starts at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import xtc
import xtc.ops as O
from benchmarks.harness import print_table, run_interleaved, save
from xtc.system.cores import usable_cores

ROUNDS = 30
ROWS = {"C": {"i": "parallelize", "j": {}, "j#16": "vectorize"}}
PANELS = {
    "C": {
        "j": "parallelize",
        "k": {"pack": 1},
        "i": {},
        "k#256": {},
        "i#8": "unroll",
        "j#32": "vectorize",
    }
}


def elementwise(rows: int, columns: int) -> xtc.Graph:
    """A relu."""
    a = O.tensor((rows, columns), name="A")
    with O.graph(name="elementwise") as gb:
        O.relu(a, name="C")
    return gb.graph


def matmul_graph(size: int) -> xtc.Graph:
    """A matmul of two square matrices."""
    a, b = O.tensor((size, size), name="A"), O.tensor((size, size), name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


def call_of(module: xtc.Module) -> Callable[[], None]:
    """A call on random arrays without checks, so that its time is that of the function."""
    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal(argument.shape).astype(argument.dtype)
        for argument in module.artifact.manifest.arguments
    ]
    call = module.host.load(module.artifact).bind([array.ctypes.data for array in arrays])

    def run(_alive: Any = arrays) -> None:
        call()

    return run


def compare(name: str, graph: xtc.Graph, schedule: dict[str, Any]) -> None:
    """Time one thread against two, and against all cores."""
    counts = sorted({1, 2, usable_cores()})
    modules = [xtc.compile(graph, schedule=schedule, threads=count) for count in counts]
    candidates = {
        f"{m.artifact.manifest.toolchain['threads']} threads": call_of(m) for m in modules
    }
    report = run_interleaved(name, candidates, baseline="1 threads", rounds=ROUNDS, min_repeat_ms=2)
    print_table(report)
    save(report, Path("out", f"bench-parallel-{name.replace(' ', '-')}.json"))
    for module in modules:
        module.close()


def main() -> None:
    """Print the tables and save the reports."""
    compare("empty loop", elementwise(max(2, usable_cores()), 32), ROWS)
    compare("elementwise 1024", elementwise(1024, 1024), ROWS)
    compare("matmul 512", matmul_graph(512), PANELS)
    compare("matmul 1024", matmul_graph(1024), PANELS)


if __name__ == "__main__":
    main()
