# SPDX-License-Identifier: Apache-2.0
"""Calls as in a server: after pauses, and next to another process that keeps a core busy.

`make bench-calls`. Waiting threads may have gone to sleep in a pause, and another process may
occupy the core on which they wake. Each library runs in a separate process, and the processes take
turns; a row is the median of the calls after pauses of one length.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from rich.table import Table

import xtc
import xtc.ops as O
from benchmarks.console import wide_console
from benchmarks.peers.worker import environment_of
from xtc.evaluate.units import seconds_text

PAUSES = (0.0, 0.001, 0.01, 0.1)
"""Seconds between the end of a call and the next call."""
SHAPES = ((256, 256, 256), (512, 512, 512), (128, 3072, 768), (1, 768, 3072))
"""Rows, columns and K of matmuls with a constant right operand."""
_SECONDS = 0.4  # of calls and pauses per turn
_MOST = 200  # most calls per turn
_BUSY = "while True: pass"


def _ours(threads: int, shape: tuple[int, int, int]) -> Callable[[], object]:
    rows, columns, depth = shape
    rng = np.random.default_rng(0)
    x = O.tensor((rows, depth), "float32", name="x")
    w = O.tensor((depth, columns), const=rng.standard_normal((depth, columns), np.float32))
    with O.graph(name="product") as gb:
        O.matmul(x, w)
    module = xtc.compile(gb.graph, threads=threads)
    given = rng.standard_normal((rows, depth), np.float32)
    result = np.empty((rows, columns), np.float32)
    call = module.host.load(module.artifact).bind([given.ctypes.data, result.ctypes.data])

    def run(_alive: object = (given, result, module)) -> None:
        call()

    return run


def _numpy(threads: int, shape: tuple[int, int, int]) -> Callable[[], object]:
    """NumPy's BLAS; the environment of the process limits its threads."""
    rows, columns, depth = shape
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, depth), np.float32)
    w = rng.standard_normal((depth, columns), np.float32)
    result = np.empty((rows, columns), np.float32)
    return lambda: np.matmul(x, w, out=result)


def _onnxruntime(threads: int, shape: tuple[int, int, int]) -> Callable[[], object]:
    """ONNX Runtime on its own arrays; its threads spin after calls by default."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    rows, columns, depth = shape
    rng = np.random.default_rng(0)
    w = numpy_helper.from_array(rng.standard_normal((depth, columns), np.float32), "w")
    types = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)
        for name, sizes in (("x", [rows, depth]), ("y", [rows, columns]))
    ]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", types[:1], types[1:], [w]
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers)
    binding = session.io_binding()
    x = onnxruntime.OrtValue.ortvalue_from_numpy(rng.standard_normal((rows, depth), np.float32))
    y = onnxruntime.OrtValue.ortvalue_from_numpy(np.empty((rows, columns), np.float32))
    binding.bind_ortvalue_input("x", x)
    binding.bind_ortvalue_output("y", y)

    def run(_alive: object = (x, y)) -> None:
        session.run_with_iobinding(binding)

    return run


LIBRARIES: dict[str, Callable[[int, tuple[int, int, int]], Callable[[], object]]] = {
    "xtc": _ours,
    "numpy": _numpy,
    "onnxruntime": _onnxruntime,
}


def _installed() -> list[str]:
    """The installed libraries; ONNX Runtime needs two packages."""
    missing = not (find_spec("onnxruntime") and find_spec("onnx"))
    return [name for name in LIBRARIES if not (missing and name == "onnxruntime")]


def serve(library: str, threads: int) -> None:
    """Read lines with a shape and a pause; answer each with seconds of calls, as JSON."""
    calls = {shape: LIBRARIES[library](threads, shape) for shape in SHAPES}
    for line in sys.stdin:
        shape, pause = json.loads(line)
        seconds = _timed(calls[tuple(shape)], pause)
        sys.stdout.write(json.dumps(seconds) + "\n")
        sys.stdout.flush()


def _timed(call: Callable[[], object], pause: float) -> list[float]:
    call()
    seconds: list[float] = []
    end = time.perf_counter() + _SECONDS
    while time.perf_counter() < end and len(seconds) < _MOST:
        time.sleep(pause) if pause else None
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


@contextlib.contextmanager
def _serving(library: str, threads: int) -> Iterator[subprocess.Popen[str]]:
    inherited = os.environ  # noqa: TID251  handed on, not read
    environment = environment_of(inherited, threads, {}, os.pathsep.join(filter(None, sys.path)))
    command = [sys.executable, __file__, "--serve", library, "--threads", str(threads)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(  # noqa: S603
        command, stdin=pipe, stdout=pipe, text=True, env=environment
    )
    try:
        yield process
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


def _ask(process: subprocess.Popen[str], shape: tuple[int, int, int], pause: float) -> list[float]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process was started without pipes")
    process.stdin.write(json.dumps([shape, pause]) + "\n")
    process.stdin.flush()
    found: list[float] = json.loads(process.stdout.readline())
    return found


@contextlib.contextmanager
def _neighbor(busy: bool) -> Iterator[None]:
    if not busy:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", _BUSY])  # noqa: S603
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measure(threads: int, rounds: int, busy: bool) -> dict[str, list[float]]:
    """Seconds of calls, by "library shape pause"."""
    found: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(_serving(name, threads)) for name in _installed()}
        stack.enter_context(_neighbor(busy))
        for _ in range(rounds):
            for shape in SHAPES:
                for pause in PAUSES:
                    for name, server in servers.items():
                        key = f"{name} {'x'.join(map(str, shape))} {pause * 1e3:g} ms"
                        found.setdefault(key, []).extend(_ask(server, shape, pause))
    return found


def print_calls(found: dict[str, list[float]], title: str) -> None:
    """Medians, with the tenth and the ninetieth percentile."""
    table = Table(title=title)
    libraries = _installed()
    for heading in ("product", "pause", *libraries, "best other / xtc"):
        table.add_column(heading, justify="left" if heading == "product" else "right")
    for shape in SHAPES:
        for pause in PAUSES:
            words = "x".join(map(str, shape)), f"{pause * 1e3:g} ms"
            samples = [found[" ".join((name, *words))] for name in libraries]
            ours, *others = [statistics.median(seconds) for seconds in samples]
            cells = [
                f"{seconds_text(median)} ({seconds_text(float(np.percentile(seconds, 90)))})"
                for median, seconds in zip((ours, *others), samples, strict=True)
            ]
            table.add_row(*words, *cells, f"{min(others) / ours:.2f}")
    wide_console().print(table)


def main() -> None:
    """Print the tables and save the samples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", choices=list(LIBRARIES), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve is not None:
        serve(args.serve, args.threads)
        return
    everything = {}
    for busy in (False, True):
        title = f"{args.threads} threads, {'beside a busy neighbor' if busy else 'alone'}"
        found = measure(args.threads, args.rounds, busy)
        print_calls(found, f"{title}: median (90th percentile)")
        everything[title] = found
    path = Path("out/bench-calls.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(everything))


if __name__ == "__main__":
    main()
