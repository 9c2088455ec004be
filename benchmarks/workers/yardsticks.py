# SPDX-License-Identifier: Apache-2.0
"""The rates of the machine itself: multiply-adds in registers, and memory traffic.

As workloads: op "fma" with `attributes.iterations`, or "read", "copy", "triad" with total
`attributes.bytes` and `attributes.passes` over them per call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np

from benchmarks.peers.traffic import loaded_traffic
from xtc.codegen.llvm import Machine
from xtc_targets.host.fma_kernel import shape_for
from xtc_targets.host.peak import loaded_function, start_values

from .call import Array, Call, Workload, aligned


def prepare(workload: Workload, arrays: list[Array], threads: int) -> Call:
    """The same work on every thread concurrently."""
    with ExitStack() as opened:
        if workload["op"] == "fma":
            part = _multiply_adds(workload["attributes"]["iterations"], opened)
        else:
            part = _traffic(workload["op"], threads, opened, **workload["attributes"])
        pool = opened.enter_context(ThreadPoolExecutor(threads))
        close = opened.pop_all().close

    def run() -> None:
        work: list[Future[None]] = [pool.submit(part, thread) for thread in range(1, threads)]
        part(0)
        for future in work:
            future.result()

    return Call(run, lambda: np.zeros(0, np.float32), close)


def _multiply_adds(iterations: int, opened: ExitStack) -> Callable[[int], None]:
    shape = shape_for("float32", Machine.host().features)
    function = opened.enter_context(loaded_function(shape))

    def part(thread: int) -> None:
        chains = start_values(shape)
        function(iterations, chains.ctypes.data, 0.5, 1.0)

    return part


def _traffic(
    kind: str, threads: int, opened: ExitStack, *, bytes: int, passes: int
) -> Callable[[int], None]:
    """Memory traffic, with a part of every array per thread."""
    function, arrays = opened.enter_context(loaded_traffic(kind))
    elements = bytes // (4 * arrays * threads)
    parts = [[_touched(elements) for _ in range(arrays)] for _ in range(threads)]
    total = (ctypes.c_float * threads)()
    address = ctypes.addressof(total)

    def part(thread: int) -> None:
        addresses = [array.ctypes.data for array in parts[thread]]
        addresses += [address + 4 * thread] * (3 - len(addresses))
        for _ in range(passes):
            function(elements, *addresses)

    return part


def _touched(elements: int) -> Array:
    """An array whose pages are mapped."""
    array = aligned((elements,), np.float32)
    array[...] = 1
    return array
