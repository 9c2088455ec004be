# SPDX-License-Identifier: Apache-2.0
"""Runs one engine in a process: prepares a file, and times calls on requests in JSON lines.

The first output line has the cost of preparation and the location of the results. Then each line
`{"seconds": 0.4}` in gives `{"samples": [...]}`, and `{"slowest": true}` the costly operators.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.networks.engines import ENGINES, Ready
from benchmarks.networks.peak_memory import peak_bytes
from benchmarks.workers.call import aligned
from benchmarks.workers.serve import own_output

_SPINNING = 0.06  # seconds for which threads of ONNX Runtime spin after a call


def sample_inputs(path: Path) -> dict[str, Any]:
    """Arrays for a file's inputs, the same in each process; dynamic sizes are 1."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    known = {entry.name for entry in graph.initializer}
    rng = np.random.default_rng(0)
    arrays = {}
    for given in graph.input:
        if given.name in known:
            continue
        tensor = given.type.tensor_type
        shape = [dim.dim_value or 1 for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        array = aligned(shape, dtype)
        is_float = np.issubdtype(dtype, np.floating)
        array[...] = rng.standard_normal(shape) if is_float else rng.integers(0, 100, shape)
        arrays[given.name] = array
    return arrays


def _prepared(
    engine: str, path: Path, threads: int, results: Path, arrays: dict[str, Any]
) -> tuple[Ready, dict[str, Any]]:
    start = time.perf_counter()
    ready = ENGINES[engine](path, arrays, threads)
    ready.run()
    seconds = time.perf_counter() - start
    np.savez(results, *ready.results())
    return ready, {"seconds": seconds, "peak": peak_bytes(), "artifact": ready.artifact_bytes}


def _samples(ready: Ready, seconds: float) -> list[float]:
    ready.run()
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not samples:
        start = time.perf_counter()
        ready.run()
        samples.append(time.perf_counter() - start)
    time.sleep(_SPINNING)
    return samples


def main(engine: str, path: str, threads: str, results: str) -> None:
    """Answer requests until the input ends; errors are answers too."""
    answers = own_output()
    arrays = sample_inputs(Path(path))  # kept alive: engines read them in place

    def say(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    ready = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if ready is None:
                ready, about = _prepared(engine, Path(path), int(threads), Path(results), arrays)
                say(about)
            elif "slowest" in request:
                say({"slowest": list(ready.slowest())})
            else:
                say({"samples": _samples(ready, request["seconds"])})
        except Exception as error:  # an engine may raise anything
            say({"error": f"{type(error).__name__}: {str(error).splitlines()[:1]}"})


if __name__ == "__main__":
    main(*sys.argv[1:])
