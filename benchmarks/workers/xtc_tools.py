# SPDX-License-Identifier: Apache-2.0
"""xtc-tools from PyPI, whose package has the same name as this one, with its faster back end, TVM.

Schedules are as in its examples, with the best of a few register tiles.
"""

from __future__ import annotations

import atexit
import ctypes.util
import importlib
import os
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from .call import Array, Call, Operators, Unsupported, Workload, lookup
from .tiles import divisor, fastest, tiles_of

_FOLDER = tempfile.TemporaryDirectory(prefix="bench-xtc-tools-")
atexit.register(_FOLDER.cleanup)


def _find_openmp() -> None:
    """Provide libomp, which it needs at import, from intel-openmp."""
    if ctypes.util.find_library("omp"):
        return
    files = metadata.files("intel-openmp") or []
    library = next(Path(str(file.locate())) for file in files if file.name == "libiomp5.so")
    for name in ("libomp.so", "libiomp5.so"):
        Path(_FOLDER.name, name).symlink_to(library.resolve())
    for variable in ("LIBRARY_PATH", "LD_LIBRARY_PATH"):
        os.environ[variable] = _FOLDER.name  # noqa: TID251


_find_openmp()
tvm = importlib.import_module("tvm")
ops = importlib.import_module("xtc.graphs.xtc.op")
Backend = importlib.import_module("xtc.backends.tvm").Backend


def prepare(workload: Workload, arrays: list[Array], threads: int) -> Call:
    """The fastest of the tiles that divide the sizes."""
    if workload["dtype"] != "float32":
        raise Unsupported(f"its operators are not for {workload['dtype']}")
    implement: Callable[..., Any] = lookup(_OPERATORS, workload)
    shape = workload["output"]
    out = np.zeros(shape, np.float32)
    tensors = [tvm.runtime.tensor(array) for array in (*arrays, out)]
    tiles = tiles_of(shape[-2], shape[-1])
    schedulers = [implement(workload, tile, threads) for tile in tiles]
    best = fastest(
        [_loaded(scheduler, position) for position, scheduler in enumerate(schedulers)], tensors
    )
    return Call(lambda: best(*tensors), lambda: np.asarray(tensors[-1].numpy()))


def _loaded(scheduler: Any, position: int) -> Any:
    compiler = scheduler.backend.get_compiler(
        shared_lib=True, dump_file=str(Path(_FOLDER.name, f"{time.monotonic_ns()}-{position}"))
    )
    module = compiler.compile(scheduler.schedule())
    return tvm.runtime.load_module(module.file_name)[module.payload_name]


def _matmul(workload: Workload, tile: tuple[int, int], threads: int) -> Any:
    if len(workload["output"]) != 2:
        raise Unsupported("it has no batched matmul")
    a, b = (
        ops.tensor(tuple(shape), "float32", name=name)
        for name, shape in zip("AB", workload["inputs"], strict=True)
    )
    with ops.graph(name="bench") as graph:
        ops.matmul(a, b, name="C")
    scheduler = Backend(graph.graph).get_scheduler()
    terms = divisor(workload["inputs"][0][1], 4)
    scheduler.tile("i", {"i1": tile[0]})
    scheduler.tile("j", {"j1": tile[1]})
    scheduler.tile("k", {"k1": terms})
    scheduler.interchange(["j", "i", "k", "k1", "i1", "j1"])
    scheduler.unroll({"i1": tile[0], "k1": terms})
    scheduler.vectorize(["j1"])
    scheduler.buffer_at("i")
    if workload["output"][0] > tile[0]:
        scheduler.pack_at("j", 1)
    if threads > 1:
        scheduler.parallelize(["j"])
    return scheduler


def _conv2d(workload: Workload, tile: tuple[int, int], threads: int) -> Any:
    stride, border = workload["attributes"]["stride"], workload["attributes"]["padding"]
    x, w = (
        ops.tensor(tuple(shape), "float32", name=name)
        for name, shape in zip("XW", workload["inputs"], strict=True)
    )
    with ops.graph(name="bench") as graph:
        image = ops.pad2d(x, padding=border, name="P") if border else x
        ops.relu(ops.conv2d(image, w, stride=(stride, stride), name="C"), name="Y")
    scheduler = Backend(graph.graph).get_scheduler(default_node="C")
    channels = divisor(workload["inputs"][0][3], 4)
    scheduler.tile("w", {"w1": tile[0]})
    scheduler.tile("f", {"f1": tile[1]})
    scheduler.tile("c", {"c1": channels})
    scheduler.interchange(["b", "h", "w", "f", "r", "s", "c", "c1", "w1", "f1"])
    scheduler.unroll({"w1": tile[0], "c1": channels})
    scheduler.vectorize(["f1"])
    scheduler.buffer_at("f")
    if threads > 1:
        scheduler.parallelize(["h"])
    return scheduler


_OPERATORS: Operators = {"matmul": _matmul, "conv2d_relu": _conv2d}
