# SPDX-License-Identifier: Apache-2.0
"""Runs the node tests of the package onnx on compiled code, and counts the outcomes.

    python tools/onnx_node_tests.py [--only TEXT] [--list wrong,crash,refused] [--out FILE]

A test is "right" if compiled code computes the expected arrays, "folded" if nothing was left to
compile, "refused" if the importer names an unsupported feature, "wrong" if arrays differ, and
"crash" in all other cases, including the end of the process. With --out, each outcome is written
to the file at once as a line of JSON, and a run resumes from the file.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import sys
import time
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 120.0  # per test
KINDS = ("right", "folded", "refused", "wrong", "crash")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test: status, message, and CPU time in seconds."""

    name: str
    kind: str
    text: str = ""
    seconds: float = 0.0


def cases(only: str = "") -> list[Any]:
    """The tests whose name contains `only`."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    return [case for case in found if only in case.name]


def outcome(case: Any, opt_level: int = 3) -> Outcome:
    """Run one test in this process."""
    from xtc.core.errors import UserError

    start = time.process_time()
    try:
        kind, text = _run(case, opt_level)
    except UserError as error:
        kind, text = "refused", str(error)
    except AssertionError as error:
        kind, text = "wrong", str(error)
    except Exception as error:
        kind, text = "crash", f"{type(error).__name__}: {error}"
    return Outcome(case.name, kind, text[:2000], round(time.process_time() - start, 3))


def _run(case: Any, opt_level: int) -> tuple[str, str]:
    from onnx.backend.test.runner import Runner, _normalize_tensor

    import xtc

    model = xtc.from_onnx(case.model)
    folded = True
    options = {"in_memory": True, "cache": False, "opt_level": opt_level}
    with xtc.compile(model, **options) as module:
        for inputs, outputs in case.data_sets:
            given = [_normalize_tensor(value) for value in inputs]
            found = module(*given)
            results = list(found) if isinstance(found, tuple) else [found]
            expected = [_normalize_tensor(value) for value in outputs]
            with np.errstate(all="ignore"):
                Runner.assert_similar_outputs(expected, results, rtol=case.rtol, atol=case.atol)
            folded = folded and not module.graph.inputs
    return ("folded" if folded else "right"), ""


def _serve(connection: Connection, only: str, opt_level: int) -> None:
    found = {case.name: case for case in cases(only)}
    connection.send(list(found))
    while (name := connection.recv()) is not None:
        connection.send(outcome(found[name], opt_level))


def outcomes(only: str, opt_level: int, known: Collection[str] = ()) -> Iterator[Outcome]:
    """Run all tests except the known ones, in a process that is restarted after a crash."""
    waiting: list[str] | None = None
    while waiting is None or waiting:
        ours, theirs = multiprocessing.Pipe()
        serve = multiprocessing.get_context("fork").Process
        process = serve(target=_serve, args=(theirs, only, opt_level))
        process.start()
        theirs.close()
        names = ours.recv()
        waiting = [name for name in names if name not in known] if waiting is None else waiting
        while waiting:
            name = waiting.pop(0)
            ours.send(name)
            try:
                if not ours.poll(SECONDS):
                    raise EOFError
                yield ours.recv()
            except (EOFError, ConnectionResetError):
                process.kill()
                process.join()
                yield Outcome(name, "crash", f"process ended ({process.exitcode}) or hung")
                break
        if process.is_alive():
            ours.send(None)
        process.join()


def kept(file: Path | None) -> dict[str, Outcome]:
    """The latest outcome of each test in the file of an earlier run."""
    if file is None or not file.exists():
        return {}
    lines = (line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n"))
    results = (Outcome(**json.loads(line)) for line in lines)
    return {result.name: result for result in results}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Run the node tests of the package onnx.")
    parser.add_argument("--only", default="", help="part of the names of the tests to run")
    parser.add_argument("--list", default="wrong,crash", help="kinds to print, with their texts")
    parser.add_argument("--out", type=Path, help="file for all outcomes; a run resumes from it")
    parser.add_argument("--again", default="", help="kinds to run again although the file has them")
    parser.add_argument("--opt-level", type=int, default=3, help="of LLVM, 0 to 3")
    return parser


def main() -> int:
    """Entry point."""
    args = _parser().parse_args()
    again = args.again.split(",")
    found = {name: each for name, each in kept(args.out).items() if each.kind not in again}
    found = {name: each for name, each in found.items() if args.only in name}
    for result in outcomes(args.only, args.opt_level, found):
        found[result.name] = result
        if args.out:
            with args.out.open("a") as file:
                file.write(json.dumps(vars(result)) + "\n")
        if result.kind in args.list.split(","):
            sys.stdout.write(f"{result.kind} {result.name}: {result.text}\n")
            sys.stdout.flush()
        if len(found) % 50 == 0:
            sys.stderr.write(f"{len(found)} tests: {_counted(found)}\n")
    sys.stdout.write(_counted(found) + "\n")
    return 1 if {result.kind for result in found.values()} & {"wrong", "crash"} else 0


def _counted(found: dict[str, Outcome]) -> str:
    counts = collections.Counter(result.kind for result in found.values())
    seconds = sum(result.seconds for result in found.values())
    return ", ".join(f"{kind} {counts[kind]}" for kind in KINDS) + f"; {seconds:.0f} s of CPU"


if __name__ == "__main__":
    sys.exit(main())
