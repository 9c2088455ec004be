# SPDX-License-Identifier: Apache-2.0
"""Code of a C compiler against code of LLVM: two scheduled matmuls, a chain, and compile time.

`make bench-codegen`, with the compiler that XTC_CC names. Everything runs on one thread, in
float32.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import xtc
import xtc.ops as O
from benchmarks.harness import print_table, run_interleaved, save
from benchmarks.parallel_loops import call_of, matmul_graph

ROUNDS = 30
TILES = {"C": {"j": {}, "k": {}, "i": {}, "k#128": {}, "i#8": "unroll", "j#32": "vectorize"}}
VECTORS = {"C": {"i": {}, "k": {}, "j": {}, "j#32": "vectorize"}}
GENERATORS = ("llvm", "c")


def chain() -> xtc.Graph:
    """Four elementwise operators, whose arrays fit into a second-level cache."""
    x, y = O.tensor((256, 256), name="x"), O.tensor((256, 256), name="y")
    with O.graph(name="chain") as gb:
        O.relu(O.sub(O.mul(O.add(x, y), x), y), name="R")
    return gb.graph


def compare(name: str, graph: xtc.Graph, schedule: dict[str, Any] | None = None) -> None:
    """Time the code of both generators."""
    modules = {
        codegen: xtc.compile(graph, schedule=schedule, codegen=codegen, threads=1)
        for codegen in GENERATORS
    }
    _report(name, {codegen: call_of(module) for codegen, module in modules.items()})
    for module in modules.values():
        module.close()


def compiling(graph: xtc.Graph, schedule: dict[str, Any]) -> None:
    """Time both generators, from a graph to loaded code."""

    def run(codegen: str) -> None:
        xtc.compile(graph, schedule=schedule, codegen=codegen, in_memory=True).close()

    _report("compiling", {codegen: partial(run, codegen) for codegen in GENERATORS})


def _report(name: str, candidates: dict[str, Callable[[], None]]) -> None:
    report = run_interleaved(name, candidates, baseline="llvm", rounds=ROUNDS, min_repeat_ms=5)
    print_table(report)
    save(report, Path("out", f"bench-codegen-{name.replace(' ', '-')}.json"))


def main() -> None:
    """Print the tables and save the reports."""
    compare("matmul 512, tiles", matmul_graph(512), TILES)
    compare("matmul 512, vectors", matmul_graph(512), VECTORS)
    compare("chain 256", chain())
    compiling(matmul_graph(512), TILES)


if __name__ == "__main__":
    main()
