# SPDX-License-Identifier: Apache-2.0
"""Accesses to memory, and the last accesses of each cell.

A write subsumes all accesses before it, and a read subsumes earlier ones that its threads had seen
(Flanagan, Freund, "FastTrack: Efficient and Precise Dynamic Race Detection", 2009). So a cell has
one write, and sets of reads and of atomic accesses since then; cells refer to both by numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.tile.interpreter.knowledge import ALWAYS

Array = np.ndarray[Any, Any]

PLAIN, COPY, BULK_LOAD, BULK_STORE, MULTIPLY, ATOMIC = range(6)
"""Kinds of accesses: by threads, copy_async, TMA loads and stores, wgmma, atomic instructions."""


@dataclass(eq=False, slots=True)
class Event:
    """An access by some threads, or by an asynchronous operation of theirs.

    Attributes:
        op: the index of its operation.
        kind: the kind of access.
        clock, times: the completion time of the access in columns of a clock; ALWAYS if pending.
        held: key that is equal for accesses with the same elements in the same threads; None:
            no other access is equal.
        threads, position: the accessing threads, for messages.
        is_joint: whether some of the threads, when they wait, know that all parts are done.
        before: accesses of a warpgroup before it began a multiplication.
        cell: for an atomic access that releases a single cell, the column of the cell's releases
            and the time in it: whoever acquires the cell later has seen the access.
    """

    op: int
    kind: int
    clock: int
    times: dict[int, int]
    held: Any
    threads: tuple[int, int]
    position: tuple[int, ...]
    is_joint: bool = False
    before: Any = None
    cell: tuple[int, int] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether asynchronous accesses need a proxy fence to see it."""
        return self.kind in (PLAIN, COPY, ATOMIC)

    @property
    def is_flying(self) -> bool:
        """Whether some threads have not waited for it yet."""
        return ALWAYS in self.times.values()


class Events:
    """The accesses to some memories, numbered from 1.

    Attributes:
        is_ordered: whether blocks can be ordered; else one access of another block subsumes all.
    """

    def __init__(self, is_ordered: bool = True) -> None:
        self.is_ordered = is_ordered
        self._all: list[Event] = []
        self._sets: list[tuple[int, ...]] = [()]
        self._numbers: dict[tuple[int, ...], int] = {(): 0}
        self._last: dict[int, tuple[Any, int]] = {}

    def __getitem__(self, number: int) -> Event:
        return self._all[number - 1]

    def members(self, number: int) -> Iterator[Event]:
        """The events of a set."""
        return (self[each] for each in self._sets[number])

    def number(self, event: Event) -> int:
        """The number of a new event, or of an equal one if nothing has happened since."""
        key = event.clock, event.kind, event.held, event.threads, *event.times.items()
        known = self._last.get(event.op)
        if known is not None and known[0] == key and not event.is_flying:
            return known[1]
        self._all.append(event)
        self._last[event.op] = key, len(self._all)
        return len(self._all)

    def joined(self, old: int, number: int, misses: Callable[[Event], bool]) -> int:
        """The set with a new event, without the events that it subsumes."""
        members = self._sets[old]
        if number in members:
            return old
        new = self[number]
        kept = [each for each in members if not self._stands_for(new, self[each], misses)]
        if not self.is_ordered:
            others = [each for each in kept if self[each].clock != new.clock]
            kept = [each for each in kept if each not in others[1:]]
        made = (*kept, number)
        if made not in self._numbers:
            self._numbers[made] = len(self._sets)
            self._sets.append(made)
        return self._numbers[made]

    @staticmethod
    def _stands_for(new: Event, old: Event, misses: Callable[[Event], bool]) -> bool:
        """Whether every actor that has seen the new event has also seen the old one."""
        if new.kind == BULK_LOAD:  # its mbarrier publishes no earlier accesses
            return False
        same = new.times.keys() == old.times.keys() and new.clock == old.clock
        return (same and new.held == old.held and not old.is_flying) or not misses(old)


class History:
    """The last accesses of each cell of a memory.

    Attributes:
        writes: the last write of each cell, or 0.
        reads: the set of reads since then.
        atomics: likewise for atomic accesses; None if there were none.
    """

    def __init__(self, size: int, events: Events) -> None:
        self.events = events
        self.writes = np.zeros(size, np.int32)
        self.reads = np.zeros(size, np.int32)
        self.atomics: Array | None = None

    def writes_at(self, at: Array) -> Iterator[tuple[Event, Callable[[], Array]]]:
        """The last writes of cells, each with a mask of its cells."""
        yield from self._found(self.writes[at], lambda number: iter((self.events[number],)))

    def reads_at(self, at: Array) -> Iterator[tuple[Event, Callable[[], Array]]]:
        """The reads of cells, likewise."""
        yield from self._found(self.reads[at], self.events.members)

    def atomics_at(self, at: Array) -> Iterator[tuple[Event, Callable[[], Array]]]:
        """The atomic accesses of cells, likewise."""
        if self.atomics is not None:
            yield from self._found(self.atomics[at], self.events.members)

    @staticmethod
    def _found(
        numbers: Array, members: Callable[[int], Iterator[Event]]
    ) -> Iterator[tuple[Event, Callable[[], Array]]]:
        for number in distinct(numbers):
            if number:
                for event in members(number):
                    yield event, lambda number=number: numbers == number  # type: ignore[misc]

    def never(self, at: Array) -> Array:
        """The cells that have never been written."""
        none: Array = self.writes[at] == 0
        if self.atomics is not None:
            none &= self.atomics[at] == 0
        return none

    def write(self, at: Array, number: int) -> None:
        """Record a write."""
        self.writes[at], self.reads[at] = number, 0
        if self.atomics is not None:
            self.atomics[at] = 0

    def read(self, at: Array, number: int, misses: Callable[[Event], bool]) -> None:
        """Record a read."""
        self._add(self.reads, at, number, misses)

    def combine(self, at: Array, number: int, misses: Callable[[Event], bool]) -> None:
        """Record an atomic access."""
        if self.atomics is None:
            self.atomics = np.zeros_like(self.writes)
        self._add(self.atomics, at, number, misses)

    def _add(self, sets: Array, at: Array, number: int, misses: Callable[[Event], bool]) -> None:
        numbers = sets[at]
        found = distinct(numbers)
        made = [self.events.joined(old, number, misses) for old in found]
        if len(found) == 1:
            sets[at] = made[0]
        elif made:
            sets[at] = np.array(made, np.int32)[np.searchsorted(np.array(found), numbers)]

    def all(self) -> list[Event]:
        """The last accesses of all cells, without subsumed ones."""
        whole = np.arange(self.writes.size)
        found = [
            e for part in (self.writes_at, self.reads_at, self.atomics_at) for e, _ in part(whole)
        ]
        latest: dict[Any, Event] = {}
        for number, event in enumerate(found):
            key = number if event.is_flying else (event.clock, tuple(event.times))
            known = latest.get(key)
            if known is None or max(known.times.values()) < max(event.times.values()):
                latest[key] = event
        return list(latest.values())


def distinct(numbers: Array) -> list[int]:
    """The distinct numbers of an array, in order."""
    if not numbers.size:
        return []
    low, high = int(numbers.min()), int(numbers.max())
    if low == high:
        return [low]
    if high - low > 8 * numbers.size:
        return [int(number) for number in np.unique(numbers)]
    present = np.zeros(high - low + 1, bool)
    present[numbers.reshape(-1) - low] = True
    return [int(number) + low for number in np.flatnonzero(present)]
