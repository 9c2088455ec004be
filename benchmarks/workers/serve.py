# SPDX-License-Identifier: Apache-2.0
"""A worker's loop: reads and answers one JSON object per line until the input ends.

- `{"do": "hello", "distributions": [...]}` -> `{"versions": {...}}`
- `{"do": "build", "workload": {...}, "inputs": [paths], "output": path, "min_ms": 10}` loads the
  inputs, prepares the workload, runs it once and writes its result -> `{"build_seconds": 0.1,
  "number": 12, "call_seconds": 1e-3}`: how many calls last `min_ms`
- `{"do": "run", "number": 12, "repeat": 3}` -> `{"samples": [...]}`, seconds per call
- `{"do": "drop"}` -> `{}`

Instead of these it answers `{"unsupported": reason}` or `{"error": text}`.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import sys
import time
from importlib import metadata
from typing import IO, Any

import numpy as np

from .call import Array, Call, Unsupported, aligned

_MOST_CALLS = 10**6
Answer = dict[str, Any]


class Session:
    """One library in this process, with its prepared workload."""

    def __init__(self, module: str, threads: int) -> None:
        self._module = module
        self._threads = threads
        self._call: Call | None = None

    def answer(self, request: Answer) -> Answer:
        """Answer a request; errors are answers too."""
        try:
            return self._does[request["do"]](self, request)
        except Unsupported as reason:
            return {"unsupported": str(reason)}
        except Exception as error:  # a library may raise anything
            return {"error": _one_line(error)}

    def hello(self, request: Answer) -> Answer:
        """Import the library; returns its versions."""
        importlib.import_module(f".{self._module}", __package__)
        return {"versions": {name: metadata.version(name) for name in request["distributions"]}}

    def build(self, request: Answer) -> Answer:
        """Prepare the call, check that it runs, and find its duration."""
        self.drop(request)
        library = importlib.import_module(f".{self._module}", __package__)
        arrays = [loaded(path) for path in request["inputs"]]
        start = time.perf_counter()
        self._call = call = library.prepare(request["workload"], arrays, self._threads)
        call.run()
        seconds = time.perf_counter() - start
        first = timed(call, 1)
        if request["output"]:
            np.save(request["output"], np.asarray(call.result()))
        number = calls_that_last(call, first, request["min_ms"] * 1e-3)
        return {"build_seconds": seconds, "number": number, "call_seconds": first}

    def run(self, request: Answer) -> Answer:
        """Time the call, after one call that warms up caches and threads."""
        if self._call is None:
            raise RuntimeError("nothing was built")
        self._call.run()
        number = request["number"]
        samples = [timed(self._call, number) / number for _ in range(request["repeat"])]
        return {"samples": samples}

    def drop(self, request: Answer) -> Answer:
        """Drop the workload."""
        if self._call is not None:
            self._call.close()
        self._call = None
        gc.collect()
        return {}

    _does = {"hello": hello, "build": build, "run": run, "drop": drop}  # noqa: RUF012


def loaded(path: str) -> Array:
    """The array in a file, aligned."""
    stored = np.load(path)
    array = aligned(stored.shape, stored.dtype)
    array[...] = stored
    return array


def timed(call: Call, number: int) -> float:
    """The duration of `number` calls in seconds."""
    run = call.run
    start = time.perf_counter()
    for _ in range(number):
        run()
    return time.perf_counter() - start


def calls_that_last(call: Call, elapsed: float, seconds: float) -> int:
    """The number of calls that last `seconds`, found by growing a trial run; one took `elapsed`."""
    number = 1
    while elapsed < seconds and number < _MOST_CALLS:
        wanted = math.ceil(1.1 * number * seconds / max(elapsed, 1e-9))
        number = min(wanted, number * 10, _MOST_CALLS)
        elapsed = timed(call, number)
    return number


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300] if lines else 'no message'}"


def own_output() -> IO[str]:
    """The pipe to the parent; output of libraries is redirected to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def main(module: str, threads: int) -> None:
    """Answer requests until there are no more."""
    answers = own_output()
    session = Session(module, threads)
    gc.disable()
    for line in sys.stdin:
        answers.write(json.dumps(session.answer(json.loads(line))) + "\n")
        answers.flush()
