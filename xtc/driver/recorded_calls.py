# SPDX-License-Identifier: Apache-2.0
"""Pairs of calls: of an instrumented program, and of the original program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from time import perf_counter_ns

import numpy as np

from xtc.interfaces.runtime import Piece, RecordedKernels

Window = tuple[int, int]
"""The kernels that a call records: the number of the first one, and their count."""

_READING_SECONDS = 20e-9
"""Seconds of one clock read; at most twice that of an x86 time-stamp counter."""
_RECORDING_PART = 0.01
"""The largest share of a call's time for clock reads."""


def windows(kernels: int, seconds: float) -> list[Window]:
    """The kernels that each call of a round records, if a call takes `seconds`.

    A call records all kernels if clock reads take at most a hundredth of it. In calls of
    microseconds they would distort the times, so each call records only some kernels.
    """
    looks = int(seconds * _RECORDING_PART / _READING_SECONDS)
    length = min(kernels, max(1, looks - 1))
    count = -(-kernels // length)
    starts = [kernels * number // count for number in range(count + 1)]
    return [(first, last - first) for first, last in pairwise(starts)]


@dataclass(frozen=True)
class RecordedCall:
    """A recorded call, paired with a call of the original program.

    Attributes:
        seconds: its duration from outside; the mean if it combines several calls.
        plain_seconds: the same for the original program.
        stamps: the start of its first kernel and the end of each, in nanoseconds.
        pieces: parts of parallel loops, by the same clock.
    """

    seconds: float
    plain_seconds: float
    stamps: Sequence[int]
    pieces: Sequence[Piece]

    @staticmethod
    def of(
        recorder: RecordedKernels,
        call: Callable[[], None],
        plain: Callable[[], None],
        chosen: Sequence[Window],
        number: int,
    ) -> RecordedCall:
        """Make a pair of calls for each window; their order alternates with `number`.

        The second call follows an untimed call of the same program, because caches hold the arrays
        of the program that ran last.
        """
        result = []
        for turn, window in enumerate(chosen, number * len(chosen)):
            if len(chosen) > 1:
                recorder.record_only(*window)
            result.append(RecordedCall._pair(recorder, call, plain, is_plain_first=turn % 2 == 1))
        return _joined(result)

    @staticmethod
    def _pair(
        recorder: RecordedKernels,
        call: Callable[[], None],
        plain: Callable[[], None],
        *,
        is_plain_first: bool,
    ) -> RecordedCall:
        plain_seconds, seconds = [], []
        if is_plain_first:
            plain_seconds.append(timed(plain))
            call()
        pieces = recorder.pieces(lambda: seconds.append(timed(call)))
        stamps = recorder.stamps()
        if not is_plain_first:
            plain()
            plain_seconds.append(timed(plain))
        return RecordedCall(seconds[0], plain_seconds[0], stamps, pieces)


def timed(call: Callable[[], None]) -> float:
    """The duration of a call in seconds."""
    start = perf_counter_ns()
    call()
    return (perf_counter_ns() - start) / 1e9


def _joined(calls: Sequence[RecordedCall]) -> RecordedCall:
    """Combines calls of successive windows into one call."""
    if len(calls) == 1:
        return calls[0]
    lengths = [np.diff(call.stamps).tolist() for call in calls]
    start = calls[0].stamps[0]
    starts = accumulate((sum(window) for window in lengths), initial=start)
    pieces = [
        piece._replace(begin=piece.begin + shift, end=piece.end + shift)
        for call, begin in zip(calls, starts, strict=False)
        for shift in [begin - call.stamps[0]]
        for piece in call.pieces
        if call.stamps[0] <= piece.begin and piece.end <= call.stamps[-1]
    ]
    return RecordedCall(
        float(np.mean([call.seconds for call in calls])),
        float(np.mean([call.plain_seconds for call in calls])),
        list(accumulate((length for window in lengths for length in window), initial=start)),
        pieces,
    )
