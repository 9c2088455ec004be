# SPDX-License-Identifier: Apache-2.0
"""Runs the node tests of the package onnx on compiled code, and counts how they end.

    python tools/onnx_node_tests.py [--only TEXT] [--list wrong,crash,refused] [--json FILE]

A test is "right" where compiled code gives the expected arrays, "folded" where nothing was left to
compile, "refused" where the importer says by name what it does not support, "wrong" where arrays
differ, "crash" where anything else happens, the end of the process included.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 120.0  # for one test
KINDS = ("right", "folded", "refused", "wrong", "crash")


@dataclass(frozen=True)
class Outcome:
    """How one test ended, and what was said."""

    name: str
    kind: str
    text: str = ""


def cases(only: str = "") -> list[Any]:
    """The tests whose name contains `only`."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    return [case for case in found if only in case.name]


def outcome(case: Any) -> Outcome:
    """One test, run in this process."""
    from xtc.core.errors import UserError

    try:
        kind, text = _run(case)
    except UserError as error:
        kind, text = "refused", str(error)
    except AssertionError as error:
        kind, text = "wrong", str(error)
    except Exception as error:
        kind, text = "crash", f"{type(error).__name__}: {error}"
    return Outcome(case.name, kind, text[:2000])


def _run(case: Any) -> tuple[str, str]:
    from onnx.backend.test.runner import Runner, _normalize_tensor

    import xtc

    model = xtc.from_onnx(case.model)
    folded = True
    with xtc.compile(model, in_memory=True, cache=False) as module:
        for inputs, outputs in case.data_sets:
            given = [_normalize_tensor(value) for value in inputs]
            found = module(*given)
            results = list(found) if isinstance(found, tuple) else [found]
            expected = [_normalize_tensor(value) for value in outputs]
            with np.errstate(all="ignore"):
                Runner.assert_similar_outputs(expected, results, rtol=case.rtol, atol=case.atol)
            folded = folded and not module.graph.inputs
    return ("folded" if folded else "right"), ""


def _serve(connection: Connection, only: str) -> None:
    found = {case.name: case for case in cases(only)}
    connection.send(list(found))
    while (name := connection.recv()) is not None:
        connection.send(outcome(found[name]))


def outcomes(only: str = "") -> Iterator[Outcome]:
    """Every test in a process that is started anew after one that ended it."""
    waiting: list[str] | None = None
    while waiting is None or waiting:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=_serve, args=(theirs, only))
        process.start()
        theirs.close()
        names = ours.recv()
        waiting = names if waiting is None else waiting
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


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Run the node tests of the package onnx.")
    parser.add_argument("--only", default="", help="part of the names of the tests to run")
    parser.add_argument("--list", default="wrong,crash", help="kinds to print, with their texts")
    parser.add_argument("--json", type=Path, help="file for all outcomes")
    args = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    results = []
    for result in outcomes(args.only):
        counts[result.kind] += 1
        results.append(result)
        if result.kind in args.list.split(","):
            sys.stdout.write(f"{result.kind} {result.name}: {result.text}\n")
            sys.stdout.flush()
    if args.json:
        args.json.write_text(json.dumps([vars(result) for result in results], indent=1))
    sys.stdout.write(", ".join(f"{kind} {counts[kind]}" for kind in KINDS) + "\n")
    return 1 if counts["wrong"] or counts["crash"] else 0


if __name__ == "__main__":
    sys.exit(main())
