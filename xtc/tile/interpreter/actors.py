# SPDX-License-Identifier: Apache-2.0
"""Who accesses memory: groups of a block's threads, and what copies and multiplies beside them.

Each actor has a vector clock (Mattern, "Virtual Time and Global States of Distributed Systems",
1989): for every actor the time before which all that it did is seen here. Threads count time
together, barriers in phases, asynchronous actors in groups. Threads of a group are not ordered
among themselves: what they did since they last synchronised is not seen by each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
ALWAYS = np.iinfo(np.int64).max
_ROOM = 16


@dataclass(eq=False)
class Actor:
    """An actor.

    Attributes:
        number: among the actors of its block.
        threads: the first thread and how many there are; None: it has none.
        seen: by the numbers of actors, the time before which all that they did is seen.
    """

    number: int
    threads: tuple[int, int] | None
    seen: Array = field(default_factory=lambda: np.zeros(_ROOM, np.int64))

    def see(self, seen: Array) -> None:
        """See what somebody else has seen."""
        grown = max(seen.size, self.seen.size)
        self.seen = np.maximum(_grown(self.seen, grown), _grown(seen, grown))

    def see_until(self, number: int, time: int) -> None:
        """See what an actor did before a time."""
        self.seen = _grown(self.seen, number + 1).copy()
        self.seen[number] = max(self.seen[number], time)

    def misses(self, actors: Array, times: Array) -> Array:
        """Which accesses by actors at times are not seen; a time below 0 stands for none."""
        most = max(self.number, int(actors.max(initial=0))) + 1
        seen = _grown(self.seen, most)
        if self.threads is not None and self.threads[1] == 1:  # a thread sees what it did
            seen = seen.copy()
            seen[self.number] = ALWAYS
        missed: Array = (times >= 0) & (seen[actors] <= times)
        return missed

    def has_missed(self, actor: int, time: int) -> bool:
        """The same of one access."""
        return bool(self.misses(np.array([actor]), np.array([time])).any())


def _grown(seen: Array, size: int) -> Array:
    if seen.size >= size:
        return seen
    return np.concatenate([seen, np.zeros(max(size, 2 * seen.size) - seen.size, np.int64)])


class Clock:
    """The actors of blocks that see each other, and their time: of one block, or of a cluster.

    Attributes:
        now: the time of all threads.
        current: who runs.
        groups: actors by their threads, counted from the first of the first block.
    """

    def __init__(self) -> None:
        self.now = 0
        self.all: list[Actor] = []
        self.groups: dict[tuple[int, int], Actor] = {}
        self.beside: dict[Any, Actor] = {}
        self.current = Actor(-1, None)

    def new(self, threads: tuple[int, int] | None) -> Actor:
        """One actor more."""
        self.all.append(Actor(len(self.all), threads))
        return self.all[-1]

    def meet(self) -> None:
        """All threads wait for each other."""
        self.now += 1
        everybody = Actor(-1, None)
        for actor in self.groups.values():
            everybody.see(actor.seen)
            everybody.see_until(actor.number, self.now)
        for actor in self.groups.values():
            actor.see(everybody.seen)


class Actors:
    """The actors of a block.

    Attributes:
        first: the number of the block's first thread in its cluster.
        block: all its threads.
    """

    def __init__(self, threads: int, first: int = 0, clock: Clock | None = None) -> None:
        self.clock, self.first = clock or Clock(), first
        self.block = self.current = self.group((0, threads))

    @property
    def now(self) -> int:
        """The time of all threads."""
        return self.clock.now

    @property
    def current(self) -> Actor:
        """Who runs."""
        return self.clock.current

    @current.setter
    def current(self, actor: Actor) -> None:
        self.clock.current = actor

    def group(self, threads: tuple[int, int]) -> Actor:
        """The actor of these threads of the block."""
        key = threads[0] + self.first, threads[1]
        if key not in self.clock.groups:
            self.clock.groups[key] = self.clock.new(key)
        return self.clock.groups[key]

    def beside(self, key: Any) -> Actor:
        """The actor of the block that has no threads, by what tells it from others."""
        if (self.first, key) not in self.clock.beside:
            self.clock.beside[self.first, key] = self.clock.new(None)
        return self.clock.beside[self.first, key]

    def enter(self, threads: tuple[int, int], around: Actor) -> Actor:
        """The actor of a part of a group's threads, which have seen what all of them have."""
        actor = self.group(threads)
        actor.see(around.seen)
        return actor

    def released(self) -> Array:
        """What all threads of the current actor have seen and done; time goes on."""
        self.clock.now += 1
        mine = Actor(self.current.number, None, self.current.seen.copy())
        mine.see_until(self.current.number, self.now)
        return mine.seen

    def sync(self) -> None:
        """The threads of the current actor wait for each other."""
        self.clock.now += 1
        inside = [a for a in self.clock.groups.values() if _contains(self.current, a)]
        for actor in inside:
            self.current.see(actor.seen)
        for actor in inside:
            self.current.see_until(actor.number, self.now)
        for actor in inside:
            actor.see(self.current.seen)

    @property
    def groups(self) -> list[Actor]:
        """Those of the block that have threads."""
        return [a for a in self.clock.groups.values() if _contains(self.block, a)]

    def is_group(self, number: int) -> bool:
        """Whether an actor has threads."""
        return self.clock.all[number].threads is not None

    def same_threads(self, number: int) -> bool:
        """Whether the current actor is of this number."""
        return self.current.number == number


def _contains(outer: Actor, inner: Actor) -> bool:
    (a, b), (c, d) = outer.threads or (0, 0), inner.threads or (0, 0)
    return a <= c and c + d <= a + b


def meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two groups have a thread in common."""
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1]
