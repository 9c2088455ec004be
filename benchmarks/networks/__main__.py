# SPDX-License-Identifier: Apache-2.0
"""Runs networks on all installed engines, from the same ONNX files, on one thread and on two.

`make bench-networks`; ARGS="resnet18 model.onnx --quick" names networks of this folder and files.
Each engine runs in a separate process; only one of the processes runs at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.console import wide_console
from benchmarks.harness import machine_facts
from benchmarks.networks import NETWORKS
from benchmarks.networks.engines import ENGINES, PACKAGES
from benchmarks.networks.results import Row, print_rows, print_slowest
from benchmarks.peers.worker import Worker, WorkerFailed, WorkerLost, environment_of

_READY_SECONDS = 600.0
_CALL_SECONDS = 120.0
_CLOSE = 1e-3  # relative to the largest number of a result


def files_of(names: Sequence[str], folder: Path) -> Iterator[Path]:
    """The ONNX files, one after the other; networks of this package are written to `folder`."""
    import onnx

    from benchmarks.networks.exported import to_onnx

    for name in names:
        if name in NETWORKS:
            path = folder / f"{name}.onnx"
            onnx.save(to_onnx(NETWORKS[name](False)), path)
            yield path
            path.unlink()
        else:
            yield Path(name)


def measure(path: Path, engines: Sequence[str], threads: int, rounds: int, visit: float) -> Row:
    """Measure one file on `threads` threads: samples by engine, in seconds per call."""
    row = Row(path.stem, threads)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workers = {}
        for engine in engines:
            worker = stack.enter_context(_worker(engine, path, threads, folder / f"{engine}.npz"))
            try:
                row.about[engine] = worker.ask({}, _READY_SECONDS)
            except (WorkerFailed, WorkerLost) as error:
                row.failed[engine] = str(error)
            else:
                workers[engine] = worker
        rng = np.random.default_rng(0)
        for _ in range(rounds):
            for number in rng.permutation(len(workers)):
                engine = list(workers)[number]
                found = workers[engine].ask({"seconds": visit}, _CALL_SECONDS)
                row.samples.setdefault(engine, []).extend(found["samples"])
        row.differs = _differing(folder, list(workers))
        if "xtc" in workers and row.ratio < 1:
            row.slowest = workers["xtc"].ask({"slowest": True}, _READY_SECONDS)["slowest"]
    return row


def _worker(engine: str, path: Path, threads: int, results: Path) -> Worker:
    inherited = os.environ  # noqa: TID251  handed on, not read
    environment = environment_of(inherited, threads, {}, os.pathsep.join(filter(None, sys.path)))
    words = [engine, str(path.resolve()), str(threads), str(results)]
    return Worker([sys.executable, "-m", "benchmarks.networks.serve", *words], environment, threads)


def _differing(folder: Path, engines: Sequence[str]) -> list[str]:
    """The engines whose results differ from those of the first one."""
    first, *others = [np.load(folder / f"{engine}.npz") for engine in engines]
    differing = []
    for engine, results in zip(engines[1:], others, strict=True):
        pairs = [(first[name], results[name]) for name in first.files]
        if any(abs(a - b).max() > _CLOSE * max(abs(a).max(), 1e-30) for a, b in pairs):
            differing.append(engine)
    return differing


def _installed() -> list[str]:
    return [name for name in ENGINES if name not in PACKAGES or find_spec(PACKAGES[name])]


def _arguments() -> Any:
    parser = argparse.ArgumentParser(prog="make bench-networks", description=__doc__)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), help="names, or ONNX files")
    parser.add_argument("--engines", nargs="*", choices=list(ENGINES), default=_installed())
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--visit", type=float, default=0.4, help="seconds of calls in a round")
    parser.add_argument("--quick", action="store_true", help="one network, few rounds")
    args = parser.parse_args()
    if args.quick:
        args.rounds, args.visit = 3, 0.2
        args.networks = args.networks if len(sys.argv) > 2 else ["resnet18"]
    unknown = [name for name in args.networks if name not in NETWORKS and not Path(name).is_file()]
    if unknown:
        parser.error(f"no network or file: {', '.join(unknown)}; networks: {', '.join(NETWORKS)}")
    return args


def main() -> None:
    """Print the table, and the slowest operators of rows below 1; save the samples."""
    args = _arguments()
    console, rows = wide_console(), []
    absent = sorted(set(ENGINES) - set(_installed()))
    if absent:
        console.print(f"not installed: {', '.join(absent)}")
    with tempfile.TemporaryDirectory() as folder:
        for path in files_of(args.networks, Path(folder)):
            for threads in args.threads:
                row = measure(path, args.engines, threads, args.rounds, args.visit)
                rows.append(row)
                console.print(row.line(), markup=False, highlight=False)
    print_rows(rows, args.engines, console)
    print_slowest(rows, console)
    out = Path("out/bench-networks.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"facts": machine_facts(), "rows": [row.as_dict() for row in rows]}))


if __name__ == "__main__":
    main()
