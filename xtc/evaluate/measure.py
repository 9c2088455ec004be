# SPDX-License-Identifier: Apache-2.0
"""Time, rates and counters of a call as a printable record, for every device."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xtc.core.errors import UserError, XtcError
from xtc.evaluate.counter_names import UNITS
from xtc.evaluate.counters import Counters
from xtc.evaluate.timing import Timing, time_calls
from xtc.evaluate.units import number_text

_COUNTS = 7  # the median of them is reported
_LONG_SECONDS = 0.02  # no further count begins after this time


@dataclass(frozen=True)
class Measurement:
    """Measurements and modelled figures of a call.

    `gflops` and `gbytes_per_s` are computed from the median time; they and `fraction_of_peak` are
    None if the work or the peak is unknown. `modelled_peak` says whether the peak is modelled.
    `estimated` names the counters that were multiplexed and scaled. `modelled` has figures that a
    machine model computed.
    """

    timing: Timing
    dtype: str | None = None
    gflops: float | None = None
    gbytes_per_s: float | None = None
    fraction_of_peak: float | None = None
    modelled_peak: bool = False
    counters: Mapping[str, float] = field(default_factory=dict)
    estimated: tuple[str, ...] = ()
    modelled: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [" · ".join([str(self.timing), *self._rates()])]
        if self.timing.is_disturbed and not self.modelled:
            lines.append(
                f"  disturbed: other programs preempted this one {self.timing.taken} times"
            )
        lines += [self._counter_line(name, value) for name, value in self.counters.items()]
        lines += [f"  modelled {name} {number_text(v)}" for name, v in self.modelled.items()]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON types; times in seconds."""
        timing = self.timing
        return {
            "seconds": {
                "median": timing.median,
                "best": timing.best,
                "p10": timing.p10,
                "p90": timing.p90,
                "samples": list(timing.samples),
            },
            "disturbed": timing.is_disturbed,
            "repeat": timing.repeat,
            "number": timing.number,
            "dtype": self.dtype,
            "gflops": self.gflops,
            "gbytes_per_s": self.gbytes_per_s,
            "fraction_of_peak": self.fraction_of_peak,
            "modelled_peak": self.modelled_peak,
            "counters": dict(self.counters),
            "estimated": list(self.estimated),
            "modelled": dict(self.modelled),
        }

    def _rates(self) -> list[str]:
        rates = []
        if self.gflops is not None:
            rates.append(f"{self.gflops:.4g} GFLOP/s")
        if self.gbytes_per_s is not None:
            rates.append(f"{self.gbytes_per_s:.4g} GB/s")
        if self.fraction_of_peak is not None:
            kind = f"{self.dtype} FMA" if self.dtype else "FMA"
            origin = "modelled" if self.modelled_peak else "measured"
            rates.append(f"{_fraction_text(self.fraction_of_peak)} of the {origin} {kind} peak")
        return rates

    def _counter_line(self, name: str, value: float) -> str:
        note = " (estimated: counted part of the time)" if name in self.estimated else ""
        quantity = f"{number_text(value)} {UNITS[name]}" if name in UNITS else number_text(value)
        return f"  {name} {quantity} per call{note}"


def measure(
    call: Callable[[], None],
    *,
    flops: float | None = None,
    bytes_moved: float | None = None,
    dtype: str | None = None,
    repeat: int = 10,
    number: int | None = None,
    min_repeat_ms: float = 0,
    warmup: int = 1,
    counters: Sequence[str] = (),
    peak: Callable[[], float] | None = None,
    peak_again: Callable[[], float] | None = None,
    modelled_peak: bool = False,
    modelled: Mapping[str, float] | None = None,
) -> Measurement:
    """Time `call`, then count `counters` over the calls of one repeat.

    Args:
        call: the work; it returns when the work is complete.
        flops: floating-point operations of one call.
        bytes_moved: the minimal data movement of one call, in bytes.
        dtype: the element type of the operations, for the text.
        repeat: samples to take; as `number`, `min_repeat_ms` and `warmup`: see time_calls.
        counters: names from xtc.evaluate.COUNTERS, counted apart from the timed calls.
        peak: returns the FMA peak in FLOP/s, 0 if unknown; called after timing.
        peak_again: measures the peak again, if the rate is above it.
        modelled_peak: the peak comes from a machine description.
        modelled: figures of a machine model, which are labeled as such.

    Raises UserError for an unusable argument and CountersUnavailable where counting is refused.
    """
    _validate(flops, bytes_moved, peak)
    counting = Counters(counters) if counters else None
    timing = time_calls(
        call, repeat=repeat, number=number, min_repeat_ms=min_repeat_ms, warmup=warmup
    )
    counts = count_calls(call, timing.number, counting) if counting else {}
    rate = _per_second(flops, timing)
    return Measurement(
        timing=timing,
        dtype=dtype,
        gflops=None if rate is None else rate / 1e9,
        gbytes_per_s=_per_second(bytes_moved, timing, unit=1e9),
        fraction_of_peak=_fraction(rate, peak, peak_again),
        modelled_peak=modelled_peak,
        counters=counts,
        estimated=counting.estimated if counting else (),
        modelled=dict(modelled or {}),
    )


def _validate(
    flops: float | None, bytes_moved: float | None, peak: Callable[[], float] | None
) -> None:
    for label, value in (("flops", flops), ("bytes_moved", bytes_moved)):
        if value is not None and not value >= 0:
            raise UserError(f"{label} is {value}", hints=[f"{label} is 0 or more"])
    if peak is not None and flops is None:
        raise UserError(
            "a peak is given without flops", hints=["pass flops=, the operations of one call"]
        )


def _fraction(
    rate: float | None,
    peak: Callable[[], float] | None,
    again: Callable[[], float] | None,
) -> float | None:
    if rate is None or peak is None:
        return None
    highest = peak()
    if again is not None and rate > highest > 0:
        highest = again()
    return rate / highest if highest else None


def _fraction_text(fraction: float) -> str:
    return f"{fraction:.2f}" if fraction >= 0.1 else f"{fraction:.2g}"


def _per_second(amount: float | None, timing: Timing, unit: float = 1.0) -> float | None:
    if amount is None:
        return None
    if timing.median == 0:
        raise XtcError(
            "the call took less time than the clock can resolve",
            hints=["time more calls in each repeat: give number or min_repeat_ms"],
        )
    return amount / timing.median / unit


def count_calls(call: Callable[[], None], number: int, counting: Counters) -> dict[str, float]:
    """Counts of one call, without the overhead of the counters and the loop.

    The overhead is counted with an empty function and subtracted. Both are medians of a few counts,
    because the first one runs with cold caches; long calls are counted once.
    """
    counted, estimated = _median_counts(call, number, counting)
    overhead, _ = _median_counts(_nothing, number, counting)
    counting.estimated = estimated
    return {name: max(0, value - overhead[name]) / number for name, value in counted.items()}


def _median_counts(
    call: Callable[[], None], number: int, counting: Counters
) -> tuple[dict[str, float], tuple[str, ...]]:
    """The median of each counter over several counts of `number` calls, and the estimated ones."""
    start = time.perf_counter()
    found = [_counted(call, number, counting)]
    estimated = set(counting.estimated)
    while len(found) < _COUNTS and time.perf_counter() - start < _LONG_SECONDS:
        found.append(_counted(call, number, counting))
        estimated.update(counting.estimated)
    medians = {name: statistics.median(counts[name] for counts in found) for name in found[0]}
    return medians, tuple(name for name in found[0] if name in estimated)


def _counted(call: Callable[[], None], number: int, counting: Counters) -> dict[str, int]:
    with counting:
        for _ in itertools.repeat(None, number):
            call()
    return counting.values()


def _nothing() -> None:
    """An empty call, to count the overhead."""
