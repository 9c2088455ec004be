# SPDX-License-Identifier: Apache-2.0
"""Networks compiled cold and from the cache, each in a separate process: time and memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from rich.table import Table

import xtc
from benchmarks.console import wide_console
from benchmarks.networks import NETWORKS
from benchmarks.networks.peak_memory import peak_bytes
from xtc.driver.checking import samples

GOALS = {
    "resnet50": 10.0,
    "vit_s": 10.0,
    "bert_base": 10.0,
    "gpt2_step": 10.0,
    "mobilenetv2": 5.0,
}
"""Limits in seconds on two cores."""
_COLUMNS = ("", "nodes", "cold: s", "CPU s", "goal", "cached: s", "CPU s", "MB: weights")
_SIZES = ("artifact", "peak", "cached peak", "arena", "at least", "faults a call")
_FIRST_CALLS, _CALLS = 3, 10


def compile_network(name: str, *, small: bool = False) -> dict[str, float]:
    """Compile one network, or load it from the cache, in this process; sizes in bytes.

    The CPU time includes all threads and the linker. "faults" are page faults of a call after
    warm-up.
    """
    graph = NETWORKS[name](small)
    weights = sum(tensor.const.nbytes for tensor in graph.constants if tensor.const is not None)
    before = peak_bytes()
    start, cpu = time.perf_counter(), _cpu_seconds()
    with xtc.compile(graph) as module:
        seconds, cpu = time.perf_counter() - start, _cpu_seconds() - cpu
        folder, toolchain = module.artifact.folder, module.artifact.manifest.toolchain
        files = [] if folder is None else [path.stat().st_size for path in folder.iterdir()]
        peak = peak_bytes()
        faults = _faults(module)
    return {
        "cached": float(module.cached),
        "nodes": len(graph.nodes),
        "seconds": seconds,
        "cpu": cpu,
        "weights": weights,
        "artifact": sum(files),
        "before": before,
        "peak": peak,
        "faults": faults,
        "arena": int(toolchain.get("arena_bytes", 0)),
        "arena_least": int(toolchain.get("arena_least_bytes", 0)),
    }


def _faults(module: xtc.Module) -> float:
    """Page faults of a call on sample arrays whose outputs were already written."""
    inputs = samples(module.artifact.manifest, 0)
    results = module(*inputs)
    for _ in range(_FIRST_CALLS):
        module(*inputs, out=results)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(_CALLS):
        module(*inputs, out=results)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / _CALLS


def _cpu_seconds() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


Compiled = dict[str, dict[str, dict[str, float]]]
"""The results of `compile_network` for each network, "cold" and "cached"."""


def compile_all(names: Iterable[str]) -> Compiled:
    """Compile each network twice with a new cache. Raises RuntimeError if the cache is not used."""
    found: Compiled = {}
    for name in names:
        with tempfile.TemporaryDirectory() as cache:
            found[name] = {case: _in_process(name, cache) for case in ("cold", "cached")}
        if [row["cached"] for row in found[name].values()] != [0, 1]:
            raise RuntimeError(f"{name} was not taken from the cache the second time only")
    return found


def _in_process(name: str, cache: str) -> dict[str, float]:
    code = f"import benchmarks.networks.compiled as c; print(c.json_of({name!r}))"
    command = [sys.executable, "-c", code]
    # On one file system, so that large files need not be copied.
    folders = {"XTC_CACHE": "1", "XTC_CACHE_DIR": f"{cache}/artifacts", "TMPDIR": cache}
    run = subprocess.run(  # noqa: S603
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **folders},  # noqa: TID251
    )
    row: dict[str, float] = json.loads(run.stdout)
    return row


def json_of(name: str) -> str:
    """The figures of one network for the parent process."""
    return json.dumps(compile_network(name))


def print_compiled(found: Compiled) -> None:
    """Print the table."""
    table = Table(title="networks, compiled cold and loaded from the cache; peaks are of processes")
    for heading in (*_COLUMNS, *_SIZES):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, rows in found.items():
        cold, cached = rows["cold"], rows["cached"]
        times = [f"{cold['seconds']:.1f}", f"{cold['cpu']:.1f}", f"{GOALS.get(name, '')}"]
        times += [f"{cached['seconds']:.2f}", f"{cached['cpu']:.2f}"]
        sizes = [cold["weights"], cold["artifact"], cold["peak"], cached["peak"]]
        sizes += [cold["arena"], cold["arena_least"]]
        megabytes = (f"{size / 1e6:,.1f}" for size in sizes)
        table.add_row(name, f"{cold['nodes']:g}", *times, *megabytes, f"{cold['faults']:g}")
    wide_console().print(table)


def save_compiled(found: Compiled, path: Path) -> None:
    """Save all figures as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1))
