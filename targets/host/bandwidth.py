# SPDX-License-Identifier: Apache-2.0
"""The rate at which this machine reads its memory: the other roof that a kernel runs into.

An array much larger than the caches is summed, in the manner of STREAM (J. D. McCalpin,
www.cs.virginia.edu/stream), by a loop that is bound by its loads. Measured like the peak of
multiply-adds, and for the same reasons.
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
"""Elements, a multiple of STEP; address of the array; gives their sum."""

NBYTES = 128 << 20
"""Of the array: several times the last cache of most processors. Where the cache is larger, what is
measured lies between the rates of cache and memory."""
STEP = 32  # elements a turn: four vectors of the widest registers
_SYMBOL = "sum"
_ROUNDS = 5
_measuring = threading.Lock()


def memory_bandwidth(threads: int = 1, nbytes: int = NBYTES) -> float:
    """The best rate of reading memory that was ever measured here, in bytes per second.

    A process measures a combination once and gives the same answer from then on.

    Args:
        threads: how many threads read at the same time; the rate is that of all together.
        nbytes: of the array, which the threads share.

    Raises UserError for numbers that are too small.
    """
    if threads < 1:
        raise UserError(f"threads is {threads}", hints=["use 1 thread or more"])
    if nbytes < 8 * STEP * threads:
        raise UserError(f"nbytes is {nbytes}", hints=[f"use {8 * STEP} bytes a thread or more"])
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
    """Nanoseconds in which every thread reads its part."""
    start = perf_counter_ns()
    for _ in pool.map(lambda part: function(part.size, part.ctypes.data), parts):
        pass
    return perf_counter_ns() - start


@contextmanager
def loaded_sum() -> Iterator[Sum]:
    """The loop compiled for this machine and loaded; unusable once the block is left."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    with LoadedObjects([compile_ir(sum_ir(), Machine.host())]) as objects:
        yield prototype(objects.address(_SYMBOL))


def sum_ir() -> str:
    """IR of `i64 sum(i64 elements, ptr a)`: integers, whose sum may be taken in any order."""
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
