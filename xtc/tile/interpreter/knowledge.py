# SPDX-License-Identifier: Apache-2.0
"""The knowledge that actors have of each other, as vector clocks (Mattern, "Virtual Time and Global
States of Distributed Systems", 1989).

Each block, or cluster of blocks, has a clock; actors and mbarriers are its columns. A vector clock
has for each column the time before which all of its accesses are known. Vector clocks are
immutable, so actors that have synchronized share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest

Times = Mapping[int, tuple[int, ...]]
"""The times of the columns of each clock, by its number; 0 for columns beyond the end."""

ALWAYS = 1 << 62
"""Later than any time: the time of pending accesses."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Knowledge of the columns of clocks.

    Attributes:
        seen: accesses to memory that are complete and visible.
        passed: events that have happened: bulk copies pass on the order of mbarrier phases too,
            without making other accesses visible.
        shown: by memory, the writes visible to bulk copies and warpgroups since a proxy fence.
    """

    seen: Times
    passed: Times
    shown: tuple[Times, Times]

    def with_own(self, clock: int, columns: Iterable[int], now: int) -> Knowledge:
        """The same, and all accesses of columns before a time."""
        own = {clock: _raised(columns, now)}
        return Knowledge(_later(self.seen, own), _later(self.passed, own), self.shown)

    def after_fence(self, clock: int, column: int, now: int, memory: int) -> Knowledge:
        """The same after a proxy fence of one memory by an actor."""
        shown = list(self.shown)
        shown[memory] = _later(_later(shown[memory], self.seen), {clock: _raised((column,), now)})
        return Knowledge(self.seen, self.passed, (shown[0], shown[1]))


NOTHING = Knowledge({}, {}, ({}, {}))


def all_of(parts: Iterable[Knowledge]) -> Knowledge:
    """The union of several."""
    return reduce(_together, parts, NOTHING)


def common_of(parts: Sequence[Knowledge]) -> Knowledge:
    """The intersection of several."""
    first, *others = parts
    if all(other is first for other in others):
        return first
    seen, passed = (
        _earlier([getattr(part, name) for part in parts]) for name in ("seen", "passed")
    )
    a, b = (_earlier([part.shown[memory] for part in parts]) for memory in (0, 1))
    return Knowledge(seen, passed, (a, b))


def passed_only(known: Knowledge) -> Knowledge:
    """The part of the issuing thread's knowledge that a bulk copy passes on."""
    return Knowledge({}, known.passed, NOTHING.shown)


def time_of(times: Times, clock: int, column: int) -> int:
    """The time of a column."""
    found = times.get(clock, ())
    return found[column] if column < len(found) else 0


def _together(a: Knowledge, b: Knowledge) -> Knowledge:
    if a is b or b is NOTHING:
        return a
    if a is NOTHING:
        return b
    shown = _later(a.shown[0], b.shown[0]), _later(a.shown[1], b.shown[1])
    return Knowledge(_later(a.seen, b.seen), _later(a.passed, b.passed), shown)


def _raised(columns: Iterable[int], now: int) -> tuple[int, ...]:
    chosen = set(columns)
    return tuple(now if column in chosen else 0 for column in range(max(chosen) + 1))


def _later(a: Times, b: Times) -> Times:
    """The later time of each column."""
    if a is b or not b:
        return a
    if not a:
        return b
    merged = dict(a)
    for clock, times in b.items():
        mine = merged.get(clock)
        if mine is None or mine is times:
            merged[clock] = times
        else:
            merged[clock] = tuple(_latest(mine, times))
    return merged


def _earlier(parts: Sequence[Times]) -> Times:
    """The earliest time of each column."""
    clocks = set(parts[0]).intersection(*parts[1:])
    return {c: tuple(map(min, zip(*(part[c] for part in parts), strict=False))) for c in clocks}


def _latest(a: tuple[int, ...], b: tuple[int, ...]) -> Iterator[int]:
    return (max(pair) for pair in zip_longest(a, b, fillvalue=0))
