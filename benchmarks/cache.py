# SPDX-License-Identifier: Apache-2.0
"""The time of a hit in the artifact cache, by phase: `make bench-cache`.

Warm: in a process that has compiled before. First: the first compilation of a new process, which
also loads LLVM to detect the machine, and hashes this project's code. Only a temporary cache is
used.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from rich.console import Console
from rich.table import Table

import xtc
import xtc.ops as O
from benchmarks.console import wide_console
from benchmarks.harness import print_table, run_interleaved, save
from xtc.driver import prepare
from xtc.driver.cached import compilation_key
from xtc.system.cache import cache_key, canonical_text, configured_cache
from xtc.system.workspace import private_folder

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 50
PROCESSES = 7
SIZE = 256

_FIRST = """
import time
start = time.perf_counter()
import xtc
from benchmarks.cache import graph
made = graph()
imported = time.perf_counter()
from xtc.codegen.llvm import Machine
Machine.host()
machine = time.perf_counter()
module = xtc.compile(made)
end = time.perf_counter()
print(imported - start, machine - imported, end - machine, module.cached)
"""
FIRST_PHASES = ("import xtc and the benchmark", "load LLVM", "xtc.compile")


def graph() -> xtc.Graph:
    """Two dense layers of SIZE neurons, whose weights are constants of 256 KiB each."""
    rng = np.random.default_rng(0)
    x = O.tensor((32, SIZE), name="x")
    shape = (SIZE, SIZE)
    weights = [O.tensor(shape, const=rng.standard_normal(shape, np.float32)) for _ in range(2)]
    with O.graph(name="layers") as gb:
        O.relu(O.matmul(O.relu(O.matmul(x, weights[0])), weights[1]))
    return gb.graph


def phases(of: xtc.Graph) -> dict[str, Callable[[], object]]:
    """The phases of a hit, each alone, and the whole."""
    compilation = prepare(of)
    target, options = compilation.target, compilation.options
    artifact = xtc.compile(of).artifact
    key, cache = compilation_key(compilation).text, configured_cache()

    def fetch() -> None:
        with private_folder() as folder:
            expect_hit(cache.fetch(key, Path(folder)))

    def load() -> None:
        with target.runtime(options) as runtime:
            runtime.unload(runtime.load(artifact))

    def hit() -> None:
        with xtc.compile(of) as module:
            expect_hit(module.cached)

    return {
        "prepare": lambda: prepare(of),
        "key": lambda: compilation_key(compilation),
        "key: source text": lambda: compilation.source(locations=False),
        "key: toolchain": lambda: canonical_text(target.toolchain(options)),
        "key: hash of constants": lambda: cache_key({"constants": bytes(2 * 4 * SIZE * SIZE)}),
        "fetch: copy and check": fetch,
        "load and unload": load,
        "hit": hit,
    }


def expect_hit(found: bool) -> None:
    """Exit if the cache missed, so that there is nothing to measure."""
    if not found:
        raise SystemExit("the cache did not have what was just put there")


def without_result(function: Callable[[], object]) -> Callable[[], None]:
    """A function without a result, as the harness expects."""

    def call() -> None:
        function()

    return call


def print_first(console: Console) -> None:
    """Median milliseconds of the first compilation in a process, by phase."""
    command = [sys.executable, "-c", _FIRST]
    runs = []
    for _ in range(PROCESSES):
        ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
        *seconds, cached = ran.stdout.split()
        expect_hit(cached == "True")
        runs.append([float(text) for text in seconds])
    table = Table(title=f"first hit of a process: median of {PROCESSES}")
    table.add_column("phase")
    table.add_column("ms", justify="right")
    for name, samples in zip(FIRST_PHASES, zip(*runs, strict=True), strict=True):
        table.add_row(name, f"{statistics.median(samples) * 1e3:.2f}")
    console.print(table)


def main() -> None:
    """Print the tables and save the report."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XTC_CACHE_DIR"] = str(Path(folder, "artifacts"))  # noqa: TID251
        os.environ["XTC_CACHE"] = "1"  # noqa: TID251
        sample = graph()
        xtc.compile(sample).close()
        candidates = {name: without_result(part) for name, part in phases(sample).items()}
        report = run_interleaved("warm hit", candidates, rounds=ROUNDS, baseline="hit")
        compile_anew = without_result(lambda: xtc.compile(sample, cache=False).close())
        both = {"compile": compile_anew, "hit": candidates["hit"]}
        compared = run_interleaved("hit or compile", both, rounds=7, baseline="compile")
        print_table(report)
        print_table(compared)
        print_first(wide_console())
    save(report, Path("out/bench-cache.json"))


if __name__ == "__main__":
    main()
