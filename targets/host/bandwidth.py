# SPDX-License-Identifier: Apache-2.0
"""The measured memory read bandwidth of this machine: the memory roof of a roofline model.

A loop that is bound by its loads sums an array much larger than the caches, in the manner of STREAM
(J. D. McCalpin, www.cs.virginia.edu/stream). It is measured, not looked up, for the same reasons as
the peak of multiply-adds.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import perf_counter_ns

import numpy as np
import numpy.typing as npt

from xtc.codegen.llvm import LoadedObjects, Machine, compile_ir
from xtc.core.errors import UserError
from xtc_targets.host.best_peaks import best_ever

Array = npt.NDArray[np.int64]
Sum = Callable[[int, int], int]
"""Takes the number of elements, a multiple of STEP, and the address; returns the sum."""

NBYTES = 128 << 20
"""Size of the array: several times the last-level cache of most processors. With a larger cache,
the measured rate lies between those of cache and memory."""
STEP = 32  # elements per iteration: four vectors of the widest registers
_SYMBOL = "sum"
_ROUNDS = 5
_measuring = threading.Lock()


def memory_bandwidth(threads: int = 1, nbytes: int = NBYTES) -> float:
    """The best memory read bandwidth that was ever measured here, in bytes per second.

    A process measures each combination of arguments once and then returns the same result.

    Args:
        threads: number of concurrent threads; the rate is their total.
        nbytes: size of the array, which the threads share.

    Raises UserError for arguments that are too small.
    """
    if threads < 1:
        raise UserError(f"threads is {threads}", hints=["use 1 thread or more"])
    if nbytes < 8 * STEP * threads:
        raise UserError(
            f"nbytes={nbytes} is too small", hints=[f"use {8 * STEP} bytes per thread or more"]
        )
    with _measuring:
        return _measured(threads, nbytes)


@functools.cache
def _measured(threads: int, nbytes: int) -> float:
    elements = nbytes // (8 * STEP * threads) * STEP
    parts = [np.ones(elements, np.int64) for _ in range(threads)]
    with loaded_sum() as function, ThreadPoolExecutor(threads) as pool:
        elapsed = [_round(function, parts, pool) for _ in range(_ROUNDS)]
    title = f"{Machine.host().cpu} reading {nbytes} bytes, {threads} of {os.cpu_count()} threads"
    return best_ever(title, 8 * elements * threads / (min(elapsed) * 1e-9))


def _round(function: Sum, parts: list[Array], pool: ThreadPoolExecutor) -> int:
    """The time in which every thread reads its part, in nanoseconds."""
    start = perf_counter_ns()
    for _ in pool.map(lambda part: function(part.size, part.ctypes.data), parts):
        pass
    return perf_counter_ns() - start


@contextmanager
def loaded_sum() -> Iterator[Sum]:
    """The loop, compiled for this machine and loaded until the end of the context."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    with LoadedObjects([compile_ir(sum_ir(), Machine.host())]) as objects:
        yield prototype(objects.address(_SYMBOL))


def sum_ir() -> str:
    """IR of `i64 sum(i64 elements, ptr a)`, on integers, whose sum does not depend on the order."""
    return f"""\
define i64 @{_SYMBOL}(i64 %elements, ptr %a) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %total = phi <{STEP} x i64> [ zeroinitializer, %entry ], [ %more, %loop ]
  %p = getelementptr i64, ptr %a, i64 %i
  %v = load <{STEP} x i64>, ptr %p, align 8
  %more = add <{STEP} x i64> %total, %v
  %next = add i64 %i, {STEP}
  %again = icmp ult i64 %next, %elements
  br i1 %again, label %loop, label %done
done:
  %sum = call i64 @llvm.vector.reduce.add.v{STEP}i64(<{STEP} x i64> %more)
  ret i64 %sum
}}
declare i64 @llvm.vector.reduce.add.v{STEP}i64(<{STEP} x i64>)
"""
