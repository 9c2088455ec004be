# SPDX-License-Identifier: Apache-2.0
"""Networks compiled cold, each in a separate process: time, memory, and what is left behind."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

import xtc
from benchmarks.networks import NETWORKS

GOALS = {
    "resnet50": 10.0,
    "vit_s": 10.0,
    "bert_base": 10.0,
    "gpt2_step": 10.0,
    "mobilenetv2": 5.0,
}
"""Seconds on two cores."""
_COLUMNS = ("", "nodes", "seconds", "goal", "MB: weights", "artefact", "peak", "arena", "at least")


def compile_network(name: str, *, small: bool = False) -> dict[str, float]:
    """Compile one network, and nothing else, in this process; sizes in bytes."""
    graph = NETWORKS[name](small)
    weights = sum(tensor.const.nbytes for tensor in graph.constants if tensor.const is not None)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    with xtc.compile(graph, cache=False) as module:
        seconds = time.perf_counter() - start
        folder, toolchain = module.artifact.folder, module.artifact.manifest.toolchain
        files = [] if folder is None else [path.stat().st_size for path in folder.iterdir()]
    return {
        "nodes": len(graph.nodes),
        "seconds": seconds,
        "weights": weights,
        "artefact": sum(files),
        "before": before * 1024,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "arena": int(toolchain.get("arena_bytes", 0)),
        "arena_least": int(toolchain.get("arena_least_bytes", 0)),
    }


def compile_cold(names: Iterable[str]) -> dict[str, dict[str, float]]:
    """What `compile_network` says of each, from separate processes."""
    found = {}
    for name in names:
        code = f"import benchmarks.networks.compiled as c; print(c.json_of({name!r}))"
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        found[name] = json.loads(run.stdout)
    return found


def json_of(name: str) -> str:
    """One network as the parent process reads it."""
    return json.dumps(compile_network(name))


def print_compiled(found: dict[str, dict[str, float]]) -> None:
    """The table."""
    table = Table(title="networks, compiled cold; peak is of the process, with the weights")
    for heading in _COLUMNS:
        table.add_column(heading, justify="left" if not heading else "right")
    for name, row in found.items():
        goal = f"{GOALS[name]:g}" if name in GOALS else ""
        sizes = ("weights", "artefact", "peak", "arena", "arena_least")
        megabytes = (f"{row[key] / 1e6:,.1f}" for key in sizes)
        table.add_row(name, f"{row['nodes']:g}", f"{row['seconds']:.1f}", goal, *megabytes)
    Console().print(table)


def save_compiled(found: dict[str, dict[str, float]], path: Path) -> None:
    """All figures as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1))
