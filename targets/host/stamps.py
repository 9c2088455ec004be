# SPDX-License-Identifier: Apache-2.0
"""Selects and reads the times that a program records, in nanoseconds."""

from __future__ import annotations

import ctypes
from time import perf_counter_ns
from typing import NamedTuple

from xtc.core.errors import ArtifactError
from xtc_targets.host.build import CLOCKS, STAMPS, WINDOW

_APART_NS = 2_000_000
"""The least time between two readings of both clocks, in nanoseconds. A reading is accurate to
about 30 ns, so rates are accurate to 3 in 100,000."""
_READINGS = 8


class _Clocks(NamedTuple):
    """The program's counter and the monotonic clock at the same time."""

    ticks: int
    nanoseconds: int


class Stamps:
    """The variables of a loaded program that records `kernels` kernels."""

    def __init__(self, library: ctypes.CDLL, kernels: int) -> None:
        try:
            self._counts = (ctypes.c_int64 * (kernels + 1)).in_dll(library, STAMPS)
            self._window = (ctypes.c_int32 * 2).in_dll(library, WINDOW)
            self._read = getattr(library, CLOCKS)
        except (ValueError, AttributeError) as error:
            raise ArtifactError(f"the library cannot be loaded: {error}") from None
        self._read.restype = None
        self._start = self._clocks()

    def choose(self, first: int, count: int) -> None:
        """Record the start and end times of `count` kernels from number `first` on."""
        self._window[:] = [first, count + 1]

    def read(self) -> list[int]:
        """The start of the first selected kernel in the last call, and the end of each."""
        first, count = self._window
        last = self._later()
        rate = (last.nanoseconds - self._start.nanoseconds) / (last.ticks - self._start.ticks)
        counts = self._counts[first : first + count]
        return [last.nanoseconds - round((last.ticks - value) * rate) for value in counts]

    def _later(self) -> _Clocks:
        """Both clocks, late enough after the first reading to compare their rates."""
        end = perf_counter_ns() + _APART_NS
        found = self._clocks()
        while found.nanoseconds - self._start.nanoseconds < _APART_NS and perf_counter_ns() < end:
            found = self._clocks()
        return found

    def _clocks(self) -> _Clocks:
        """Read the counter before and after the clock, and take the middle.

        The shortest of several readings is used: others may have been interrupted.
        """
        times = [(ctypes.c_int64 * 3)() for _ in range(_READINGS)]
        for each in times:
            self._read(each)
        before, nanoseconds, after = min(times, key=lambda each: each[2] - each[0])
        return _Clocks((before + after) // 2, nanoseconds)
