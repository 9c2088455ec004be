# SPDX-License-Identifier: Apache-2.0
"""A worker whose candidates behave as their schedule says; see test_search_candidate.py.

All are really compiled; failing code comes from handwritten LLVM IR, or from another graph than the
tuned one.
"""

from __future__ import annotations

import base64
import ctypes
import json
import time
from collections.abc import Callable

import xtc.ops as O
from xtc.codegen.llvm import Machine, compile_ir
from xtc.core.errors import CompileError, UserError
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.search.bench import Bench, bench_of
from xtc.search.problem import Data
from xtc.system.sandbox import Job, serve

_CRASH = "store volatile i32 1, ptr null\n  ret void"
_HANG = "br label %again\nagain:\n  call i32 @pause()\n  br label %again"
_ABORT = "call void @abort()\n  ret void"
_SILENT = "ret void"
_WILD = (
    "%p = getelementptr i8, ptr %c, i64 1099511627776\n  store volatile i8 1, ptr %p\n  ret void"
)


def graph(factor: float = 2.0) -> Graph:
    """The tuned graph; with another factor, the wrong one."""
    a, b = O.tensor((16, 16), name="A"), O.tensor((16, 16), name="B")
    with O.graph(name="product") as builder:
        O.mul(O.matmul(a, b, name="P"), factor, name="C")
    return builder.graph


def _built(text: Graph, bench: Bench) -> Data:
    artifact = prepare(text).build(None)
    return _code(bench, *artifact.objects)


def _code(bench: Bench, *objects: bytes) -> Data:
    return {**bench.compile(""), "objects": [base64.b64encode(code).decode() for code in objects]}


def _ir(body: str) -> Callable[[Bench], Data]:
    functions = "declare void @abort()\ndeclare i32 @pause()\n"
    text = f"define void @product(ptr %a, ptr %b, ptr %c) {{\n  {body}\n}}\n{functions}"
    return lambda bench: _code(bench, compile_ir(text, Machine.host(), opt=0))


def _never(bench: Bench) -> Data:
    while True:
        time.sleep(60)


def _died(bench: Bench) -> Data:
    ctypes.string_at(0)
    return {}


def _filled(bench: Bench) -> Data:
    bytearray(1 << 40)
    return {}


def _raised(error: Exception) -> Callable[[Bench], Data]:
    def work(bench: Bench) -> Data:
        raise error

    return work


KINDS: dict[str, tuple[Callable[[Bench], Data], str]] = {
    "right": (lambda bench: bench.compile(""), "ok"),
    "tripled": (lambda bench: _built(graph(3.0), bench), "wrong"),
    "silent": (_ir(_SILENT), "wrong"),
    "crash": (_ir(_CRASH), "crashed"),
    "abort": (_ir(_ABORT), "crashed"),
    "wild": (_ir(_WILD), "crashed"),
    "hang": (_ir(_HANG), "timeout"),
    "compiler hangs": (_never, "timeout"),
    "compiler dies": (_died, "crashed"),
    "compiler fills memory": (_filled, "crashed"),
    "compiler fails": (_raised(CompileError("no")), "failed"),
    "compiler refuses": (_raised(UserError("no")), "refused"),
    "compiler is broken": (_raised(KeyError("no")), "failed"),
}


_warm: list[bool] = []


def _work(job: Job) -> str:
    bench = bench_of(job["problem"])
    if job["do"] == "measure":
        return json.dumps(bench.measure(job["compiled"], job["best"], job["repeat"]))
    return json.dumps(KINDS[job["schedule"].partition(" #")[0]][0](bench))


def _prepare(job: Job) -> None:
    bench = bench_of(job["problem"])
    if job["do"] == "measure":
        bench.load()
    elif not _warm:
        _warm.append(True)
        bench.warm_up()


def main() -> None:
    """Serve until standard input ends."""
    serve(_work, _prepare)
