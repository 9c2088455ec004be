# SPDX-License-Identifier: Apache-2.0
"""Counters by cluster and PE, and their sums, extremes and averages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xtc.core.errors import UserError, close_match

_UNIT = re.compile(r"(?P<event>.+)\.cluster\.(?P<cluster>\w+)\.pe\.(?P<pe>\w+)")
_CYCLES, _SECONDS = "modelled.mppa.CYCLES", "modelled.mppa.SECONDS"
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "min": np.min,
    "max": np.max,
    "avg": np.mean,
}


class MppaCounters(Mapping[str, float]):
    """Counters named `mppa.<event>.cluster.<c>.pe.<p>`, and `mppa.<event>` for the whole device.

    `<c>` and `<p>` are numbers, or `sum`, `min`, `max` or `avg`, which apply first over the PEs of
    each cluster, then over clusters. Events of a whole cluster are counted on its PE 0. Counters
    whose names begin with `modelled.` are computed from a model of the machine, all others are
    exact.

    Args:
        raw: the count of every cluster and PE, and of the device, by name.
        clock_hz: clock frequency of the modelled times.
    """

    def __init__(self, raw: Mapping[str, int], clock_hz: float) -> None:
        self._device: dict[str, float] = {}
        events: dict[str, dict[tuple[int, int], int]] = {}
        for name, value in raw.items():
            match = _UNIT.fullmatch(name)
            if match is None:
                self._device[name] = float(value)
            else:
                coordinates = (int(match["cluster"]), int(match["pe"]))
                events.setdefault(match["event"], {})[coordinates] = value
        if _CYCLES in self._device:
            self._device[_SECONDS] = self._device[_CYCLES] / clock_hz
        counted = [coordinates for event in events.values() for coordinates in event]
        self._clusters = 1 + max((cluster for cluster, _ in counted), default=-1)
        self._pes = 1 + max((pe for _, pe in counted), default=-1)
        self._units = {event: self._table(counts) for event, counts in events.items()}

    def _table(self, counts: Mapping[tuple[int, int], int]) -> NDArray[np.int64]:
        """The counts of an event, a row for each cluster and a column for each PE."""
        rows = [[counts[c, p] for p in range(self._pes)] for c in range(self._clusters)]
        return np.array(rows, np.int64)

    def __getitem__(self, name: str) -> float:
        if name in self._device:
            return self._device[name]
        match = _UNIT.fullmatch(name)
        if match is None or match["event"] not in self._units:
            raise KeyError(name)
        by_cluster = _select(self._units[match["event"]].T, match["pe"], name)
        return float(_select(by_cluster, match["cluster"], name))

    def __iter__(self) -> Iterator[str]:
        yield from self._device
        for event in self._units:
            for cluster in _labels(self._clusters):
                for pe in _labels(self._pes):
                    yield f"{event}.cluster.{cluster}.pe.{pe}"

    def __len__(self) -> int:
        units = len(_labels(self._clusters)) * len(_labels(self._pes))
        return len(self._device) + len(self._units) * units

    def get_checked(self, name: str) -> float:
        """A counter by name. Raises UserError with the closest name if there is none."""
        if name not in self:
            raise UserError(f"there is no counter '{name}'", hints=close_match(name, self))
        return self[name]


def _labels(count: int) -> list[str]:
    return [*map(str, range(count)), *_REDUCTIONS]


def _select(values: NDArray[Any], label: str, name: str) -> NDArray[Any]:
    """One of the values along the first dimension, or their reduction."""
    if label in _REDUCTIONS:
        reduced: NDArray[Any] = _REDUCTIONS[label](values, axis=0)
        return reduced
    if not label.isdecimal() or int(label) >= len(values):
        raise KeyError(name)
    selected: NDArray[Any] = values[int(label)]
    return selected
