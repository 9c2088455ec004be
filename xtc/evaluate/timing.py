# SPDX-License-Identifier: Apache-2.0
"""Measures the wall-clock time of repeated calls, for every device.

Each repeat times a series of consecutive calls and divides by their number, with the garbage
collector off. The overhead of the Python loop (some 20 ns per call) is not subtracted.
"""

from __future__ import annotations

import gc
import itertools
import math
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns

import numpy as np

from xtc.core.errors import UserError, XtcError
from xtc.evaluate.units import time_unit

_GROWTH = 10
_MARGIN = 1.1
_HOUSEKEEPING = 20  # the most preemptions of a core per second on a quiet system
_MOST_CALLS = 10**7


@dataclass(frozen=True)
class Timing:
    """Seconds per call, with a sample for each repeat of `number` calls.

    `taken` is the number of involuntary context switches meanwhile.
    """

    samples: tuple[float, ...]
    number: int
    taken: int = 0

    @property
    def repeat(self) -> int:
        return len(self.samples)

    @property
    def median(self) -> float:
        return float(np.median(self.samples))

    @property
    def best(self) -> float:
        return min(self.samples)

    @property
    def p10(self) -> float:
        return float(np.percentile(self.samples, 10))

    @property
    def p90(self) -> float:
        return float(np.percentile(self.samples, 90))

    @property
    def spread(self) -> tuple[float, float]:
        return self.p10, self.p90

    @property
    def is_disturbed(self) -> bool:
        """Whether other programs preempted this one more often than system housekeeping does."""
        seconds = sum(self.samples) * self.number
        return self.taken > 1 + _HOUSEKEEPING * seconds

    def __str__(self) -> str:
        length, symbol = time_unit(self.median)
        return (
            f"median {self.median / length:.4g} {symbol}"
            f" (p10 {self.p10 / length:.4g}, p90 {self.p90 / length:.4g},"
            f" {self.repeat} x {self.number} call{'' if self.number == 1 else 's'})"
        )


def time_calls(
    fn: Callable[[], None],
    *,
    repeat: int = 10,
    number: int | None = None,
    min_repeat_ms: float = 0,
    warmup: int = 1,
    clock: Callable[[], int] = perf_counter_ns,
) -> Timing:
    """Time `fn`; its exceptions pass through.

    Args:
        fn: the call to time; it returns when its work is complete.
        repeat: the number of samples, 1 or more.
        number: calls in each sample; None finds the number that lasts `min_repeat_ms` by trial,
            at least 1.
        min_repeat_ms: the minimal duration of a sample in milliseconds.
        warmup: calls before the first sample, untimed.
        clock: monotonic nanoseconds.

    Raises UserError for an unusable argument.
    """
    _validate(repeat, number, min_repeat_ms, warmup)
    with garbage_collection_off():
        for _ in range(warmup):
            fn()
        if number is None:
            number = _calls_that_last(fn, min_repeat_ms * 1e6, clock)
        before = _context_switches()
        samples = [_elapsed(fn, number, clock) / number * 1e-9 for _ in range(repeat)]
        taken = _context_switches() - before
    return Timing(tuple(samples), number, taken)


def _context_switches() -> int:
    """The involuntary context switches of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


@contextmanager
def garbage_collection_off() -> Iterator[None]:
    """Disable garbage collection inside the block; restores the previous setting."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _elapsed(fn: Callable[[], None], number: int, clock: Callable[[], int]) -> int:
    """The duration of `number` calls in nanoseconds."""
    calls = itertools.repeat(None, number)
    start = clock()
    for _ in calls:
        fn()
    return clock() - start


def _calls_that_last(fn: Callable[[], None], nanoseconds: float, clock: Callable[[], int]) -> int:
    """The number of calls that take this long, found by increasing trial runs."""
    number = 1
    while nanoseconds > 0 and (elapsed := _elapsed(fn, number, clock)) < nanoseconds:
        if number >= _MOST_CALLS:
            raise XtcError(
                f"{number} calls took {elapsed} ns, less than the requested {nanoseconds:.0f} ns",
                hints=["ask for a shorter min_repeat_ms, or give the number of calls"],
            )
        wanted = number * nanoseconds / max(elapsed, 1) * _MARGIN
        number = min(math.ceil(wanted), number * _GROWTH, _MOST_CALLS)
    return number


def _validate(repeat: int, number: int | None, min_repeat_ms: float, warmup: int) -> None:
    if repeat < 1:
        raise UserError(f"repeat is {repeat}", hints=["take 1 sample or more"])
    if number is not None and number < 1:
        raise UserError(f"number is {number}", hints=["give 1 call or more, or None to choose"])
    if warmup < 0:
        raise UserError(f"warmup is {warmup}", hints=["give 0 calls or more"])
    if not (min_repeat_ms >= 0 and math.isfinite(min_repeat_ms)):
        raise UserError(f"min_repeat_ms is {min_repeat_ms}", hints=["give 0 or more milliseconds"])
    if number is not None and min_repeat_ms > 0:
        raise UserError(
            f"number={number} and min_repeat_ms={min_repeat_ms} both set the length of a repeat",
            hints=["give one of them"],
        )
