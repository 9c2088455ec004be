# SPDX-License-Identifier: Apache-2.0
"""Times of launches by a device's clock.

Before each sample the second-level cache is overwritten, repeatedly if the host needs longer for a
call: the measured work is in the stream before the device reaches it, so host time is not included.
Candidates alternate in a shuffled order, so that disturbances affect all of them.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from xtc.interfaces.runtime import AcceleratorDevice
from xtc.tile.config import support_of

_MORE = 3  # limit of the factor of rounds if samples differ much
_HEAD_START = 2.0  # multiple of the host's time for a call
_MOST_FILLS = 200
_HOST_CALLS = 3  # timed calls, of which the median counts
_STEADY = 0.02
"""Relative median deviation of samples below which no more rounds are needed."""


class StreamClock:
    """Measures the work that calls submit to a stream of a device; a context manager."""

    def __init__(self, device: AcceleratorDevice, stream: int, *, flush: bool = True) -> None:
        """`flush`: overwrite the second-level cache before each sample, or else a sixteenth of it,
        for the head start alone. `device` has streams."""
        assert device.streams is not None  # noqa: S101
        self._device, self._streams, self._stream = device, device.streams, stream
        cache_bytes = support_of(device)[2].cache_bytes
        self._nbytes = 2 * cache_bytes if flush else cache_bytes // 16
        self._address = device.memory_allocate(self._nbytes) if self._nbytes else 0
        self._fills = 1

    def begin(self, run: Callable[[], Any]) -> tuple[Any, Any]:
        """Call once, and return the events around the submitted work."""
        for _ in range(self._fills if self._nbytes else 0):
            self._streams.fill_zero(self._stream, self._address, self._nbytes)
        first = self._streams.mark(self._stream)
        run()
        return first, self._streams.mark(self._stream)

    def samples(self, runs: Sequence[Callable[[], Any]], rounds: int) -> list[list[float]]:
        """Seconds of each call in each round; calls alternate within a round."""
        self._get_ahead(runs)
        order = random.Random(rounds)  # noqa: S311
        marks: list[list[Any]] = [[] for _ in runs]
        for _ in range(rounds):
            for number in order.sample(range(len(runs)), len(runs)):
                marks[number].append(self.begin(runs[number]))
        return [[self._streams.seconds(*pair) for pair in each] for each in marks]

    def steady_samples(self, runs: Sequence[Callable[[], Any]], rounds: int) -> list[list[float]]:
        """Like `samples`, with more rounds while samples of the fastest call differ much."""
        found = self.samples(runs, rounds)
        for _ in range(_MORE - 1):
            if spread(min(found, key=statistics.median)) <= _STEADY:
                break
            more = self.samples(runs, rounds)
            found = [before + after for before, after in zip(found, more, strict=True)]
        return found

    def _get_ahead(self, runs: Sequence[Callable[[], Any]]) -> None:
        """Overwrite the cache as often as gives the host a head start on each of these calls."""
        if not self._nbytes:
            return
        host = max(map(_host_seconds, runs), default=0.0)
        self._streams.wait(self._stream)
        marks = []
        for _ in range(2):  # the loading of code for the first one is not measured
            self._streams.fill_zero(self._stream, self._address, self._nbytes)
            marks.append(self._streams.mark(self._stream))
        each = self._streams.seconds(*marks)
        self._fills = min(_MOST_FILLS, max(1, math.ceil(_HEAD_START * host / max(each, 1e-9))))

    def close(self) -> None:
        """Free the memory."""
        if self._address:
            self._device.memory_free(self._address)
        self._address = 0

    def __enter__(self) -> StreamClock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _host_seconds(run: Callable[[], Any]) -> float:
    """The host's time for a call that does not wait for the device."""
    times = []
    for _ in range(_HOST_CALLS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def spread(samples: Sequence[float]) -> float:
    """The relative median absolute deviation, which ignores single outliers."""
    middle = statistics.median(samples)
    return statistics.median(abs(each - middle) for each in samples) / max(middle, 1e-12)
