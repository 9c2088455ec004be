# SPDX-License-Identifier: Apache-2.0
"""The measured peak rate of multiply-adds of this machine, to compare kernels with.

It is measured, not looked up, because it depends on the clock frequency, and on the share of the
processor that the operating system and a virtual machine's host give to this process. The best rate
that was ever measured counts.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from time import thread_time_ns

import numpy as np
import numpy.typing as npt

from xtc.codegen.llvm import LoadedObjects, Machine, compile_ir
from xtc.core.errors import UserError, did_you_mean
from xtc.core.types import element_type
from xtc_targets.host.best_peaks import best_ever
from xtc_targets.host.description import HostDescription
from xtc_targets.host.dot_kernel import DotShape, dot_kernel_ir, dot_shape_for
from xtc_targets.host.fma_kernel import BITS, LLVM_TYPE, SYMBOL, Shape, kernel_ir, shape_for

Function = Callable[[int, int, float, float], None]
"""Takes iterations, address of the chains, m and a: see kernel_ir and dot_kernel_ir."""
Kernel = Callable[[int], int]
"""Runs a number of iterations; returns the CPU time of the thread in nanoseconds."""

_C_TYPE = {"float32": ctypes.c_float, "float64": ctypes.c_double}
_COMPUTED_IN = {"float16": "float32", "bfloat16": "float32"}  # without an instruction
_ONES = {"bf16": 0x3F803F80, "i16": 0x00010001, "i8": 0x01010101}
_ROUNDS = 5
_TRIAL_NS = 1_000_000
_SUM_BITS = 32  # of each accumulator of dot products
_WIDE_BITS = 256  # above this width, narrower vectors are measured as well
_measuring = threading.Lock()
_known: dict[tuple[str, int, float], dict[int, float]] = {}


def peak_flops(
    dtype: npt.DTypeLike, threads: int = 1, seconds: float = 0.05, *, again: bool = False
) -> float:
    """The best rate of multiply-adds that was ever measured here, in FLOP/s, for any width."""
    return max(peaks_by_width(dtype, threads, seconds, again=again).values())


def peaks_by_width(
    dtype: npt.DTypeLike, threads: int = 1, seconds: float = 0.05, *, again: bool = False
) -> Mapping[int, float]:
    """The best rates of multiply-adds that were ever measured here, in FLOP/s, by vector width.

    A multiply-add counts as two operations, and a dot-product instruction as all of its
    multiply-adds. A process measures each combination of arguments once and then returns the same
    result. With `again`, it measures anew, and the result may be higher.

    Args:
        dtype: float32 or float64; float16 and bfloat16, which are computed in float32 without a
            dot-product instruction; int8 and int16 with one.
        threads: number of concurrent threads; the rate is their total.
        seconds: duration of the measurement: five rounds, of which the best counts.

    Raises UserError for other element types and for numbers that are not positive.
    """
    name = element_type(dtype).name
    if threads < 1:
        raise UserError(f"threads is {threads}", hints=["use 1 thread or more"])
    if not (seconds > 0 and math.isfinite(seconds)):
        raise UserError(f"seconds is {seconds}", hints=["measure for more than 0 seconds"])
    key = (name, threads, float(seconds))
    with _measuring:
        if again or key not in _known:
            title = f"{Machine.host().cpu} {name} FMA, {threads} of {os.cpu_count()} threads"
            known = _known.get(key, {})
            _known[key] = {
                bits: best_ever(
                    f"{title}, {bits} bits",
                    max(_measured(shape, threads, seconds), known.get(bits, 0.0)),
                )
                for bits, shape in _shapes(name).items()
            }
        return _known[key]


def has_peak(dtype: str) -> bool:
    """Whether multiply-adds of this type are measured here."""
    known = _COMPUTED_IN.get(dtype, dtype) in LLVM_TYPE
    return known or dot_shape_for(dtype, HostDescription.of(Machine.host()).dots) is not None


def _measured(shape: Shape | DotShape, threads: int, seconds: float) -> float:
    with loaded_function(shape) as function:
        kernel = functools.partial(_timed, function, shape)
        iterations = _iterations_that_last(kernel, seconds / _ROUNDS * 1e9)
        with ThreadPoolExecutor(threads) as pool:
            rates = [_round(kernel, iterations, threads, pool) for _ in range(_ROUNDS)]
    return shape.flops * max(rates)


def _shapes(dtype: str) -> Mapping[int, Shape | DotShape]:
    """The loops for elements of this type by vector width in bits.

    Processors that split a wide vector in two halves, or lower their clock for it, may be faster
    with narrow vectors. Raises UserError for a type without multiply-adds.
    """
    machine = Machine.host()
    dots = dot_shape_for(dtype, HostDescription.of(machine).dots)
    if dots is not None:
        return {_SUM_BITS * dots.width: dots}
    name = _COMPUTED_IN.get(dtype, dtype)
    if name not in LLVM_TYPE:
        raise UserError(
            f"no multiply-add peak is measured for {dtype}",
            hints=did_you_mean(dtype, (*LLVM_TYPE, *_COMPUTED_IN)),
        )
    widest = shape_for(name, machine.features)
    bits = widest.width * BITS[name]
    if bits <= _WIDE_BITS:
        return {bits: widest}
    return {bits: widest, bits // 2: replace(widest, width=widest.width // 2)}


@contextmanager
def loaded_function(shape: Shape | DotShape) -> Iterator[Function]:
    """The kernel, compiled for this machine and loaded until the end of the context."""
    element = ctypes.c_int32 if isinstance(shape, DotShape) else _C_TYPE[shape.dtype]
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, element, element)
    text = dot_kernel_ir(shape) if isinstance(shape, DotShape) else kernel_ir(shape)
    with LoadedObjects([compile_ir(text, Machine.host())]) as objects:
        yield prototype(objects.address(SYMBOL))


def _timed(function: Function, shape: Shape | DotShape, iterations: int) -> int:
    chains = start_values(shape)
    m, a = factors(shape)
    start = thread_time_ns()
    function(iterations, chains.ctypes.data, m, a)
    return thread_time_ns() - start


def factors(shape: Shape | DotShape) -> tuple[float, float]:
    """The operands m and a of the chains; for dot products, the bits of ones."""
    return (_ONES[shape.dot.element],) * 2 if isinstance(shape, DotShape) else (0.5, 1.0)


def start_values(shape: Shape | DotShape) -> npt.NDArray[np.generic]:
    """Distinct values near 2, the fixed point of x * 0.5 + 1: no overflow, no slow subnormals.

    Dot products start from zeros: floats grow until they saturate, and integers wrap around.
    """
    count = shape.chains * shape.width
    if isinstance(shape, DotShape):
        return np.zeros(count, {"f32": np.float32, "i32": np.int32}[shape.dot.total])
    return (2 + np.arange(count) / count).astype(shape.dtype)


def _iterations_that_last(kernel: Kernel, nanoseconds: float) -> int:
    """The number of iterations for a duration, from a trial run that also raises the clock."""
    iterations = 1024
    while (elapsed := kernel(iterations)) < _TRIAL_NS:
        iterations *= 4
    return max(1, round(iterations * nanoseconds / elapsed))


def _round(kernel: Kernel, iterations: int, threads: int, pool: ThreadPoolExecutor) -> float:
    """Iterations per second of all threads, which start together.

    Each thread counts its CPU time, so that other programs on the same core do not lower the rate.
    """
    together = threading.Barrier(threads)

    def run() -> int:
        together.wait()
        return kernel(iterations)

    try:
        runs = [pool.submit(run) for _ in range(threads)]
    except RuntimeError:  # the system is out of threads: release those that wait
        together.abort()
        raise
    return sum(iterations / (max(1, run.result()) * 1e-9) for run in runs)
