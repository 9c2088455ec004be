# SPDX-License-Identifier: Apache-2.0
"""Actors: the threads of blocks that access memory.

An actor is a set of a block's threads that no thread group of the kernel divides. Its threads have
the same knowledge of others. They are not ordered among themselves: they do not see each other's
accesses since they last synchronized. A group consists of one or more actors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from xtc.tile.interpreter.events import Event
from xtc.tile.interpreter.knowledge import ALWAYS, NOTHING, Knowledge, all_of, common_of

WARP = 32
SHARED, GLOBAL = 0, 1
"""Threads of a warp; and the memories of proxy fences."""


@dataclass(eq=False)
class Actor:
    """A set of a block's threads that no thread group divides.

    Attributes:
        column: its column in the clock of the block's cluster.
        threads: the first thread in the block, and their number. A single thread knows
            its own accesses.
        known: the knowledge that all of its threads have.
        acquired: further knowledge of one of its threads, it is unknown of which one.
        beside: the asynchronous operations that its threads have begun.
    """

    clock: Clock
    column: int
    threads: tuple[int, int]
    known: Knowledge = NOTHING
    acquired: Knowledge = NOTHING
    beside: Any = None

    @property
    def is_thread(self) -> bool:
        """Whether it is a single thread."""
        return self.threads[1] == 1

    def misses(self, event: Event) -> bool:
        """Whether a thread may not have seen an access completely."""
        return self._lacks(event, self.known.seen, own=self.is_thread)

    def is_unshown(self, event: Event, memory: int) -> bool:
        """Whether a proxy fence is missing for bulk copies and warpgroups to see a write."""
        return event.is_plain and self._lacks(event, self.known.shown[memory], own=False)

    def _lacks(self, event: Event, times: Any, own: bool) -> bool:
        found = times.get(event.clock, ())
        if event.cell and event.cell[0] < len(found) and found[event.cell[0]] > event.cell[1]:
            return False
        own = (own or event.is_joint) and event.clock == self.clock.number
        seen = [
            (column < len(found) and found[column] > time)
            or (own and column == self.column and time != ALWAYS)
            for column, time in event.times.items()
        ]
        return not (any(seen) if event.is_joint else all(seen))

    def learn(self, known: Knowledge) -> None:
        """Add the knowledge of another actor."""
        self.known = all_of((self.known, known))

    def released(self, now: int) -> Knowledge:
        """The joint knowledge of all its threads, and their accesses before a time."""
        whole = all_of((self.known, self.acquired))
        return whole.with_own(self.clock.number, (self.column,), now)


@dataclass(frozen=True, eq=False)
class Group:
    """Threads that run the same code.

    Attributes:
        threads: the first thread in the block, and their number.
        position: position of the block.
    """

    threads: tuple[int, int]
    actors: tuple[Actor, ...]
    position: tuple[int, ...]

    def misses(self, event: Event) -> bool:
        """Whether one of its threads may not have seen an access."""
        return any(actor.misses(event) for actor in self.actors)

    @property
    def warps(self) -> list[tuple[Actor, ...]]:
        """The distinct sets of actors that have threads of each warp."""
        first, last = self.threads[0] // WARP, (self.threads[0] + self.threads[1] - 1) // WARP
        found = (
            tuple(actor for actor in self.actors if meet(actor.threads, (WARP * warp, WARP)))
            for warp in range(first, last + 1)
        )
        return list(dict.fromkeys(found))

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of its actors."""
        return tuple(actor.column for actor in self.actors)

    def acquire(self, known: Knowledge) -> None:
        """Add knowledge to one of the threads."""
        for actor in self.actors:
            if actor.is_thread:
                actor.learn(known)
            else:
                actor.acquired = all_of((actor.acquired, known))

    def released_by_all(self) -> Knowledge:
        """The joint knowledge and accesses of all threads; advances the time."""
        now = self.actors[0].clock.tick()
        return all_of(actor.released(now) for actor in self.actors)

    def released_by_first(self) -> Knowledge:
        """The same for the first thread."""
        return self._by_one(self.actors[:1])

    def released_by_one(self) -> Knowledge:
        """The same for one thread, it is unknown which one."""
        return self._by_one(self.actors)

    def _by_one(self, actors: Sequence[Actor]) -> Knowledge:
        now = actors[0].clock.tick()
        if len(actors) == 1 and actors[0].is_thread:
            return actors[0].released(now)
        return common_of([actor.known for actor in actors])

    def fence(self, memory: int) -> None:
        """Make all writes that each thread has seen visible to bulk copies and warpgroups."""
        now = self.actors[0].clock.tick()
        for actor in self.actors:
            number, column = actor.clock.number, actor.column
            actor.known = actor.known.after_fence(number, column, now, memory)

    def sync(self) -> None:
        """Synchronize the threads."""
        known = self.released_by_all()
        for actor in self.actors:
            actor.known, actor.acquired = known, NOTHING


@dataclass(eq=False)
class Clock:
    """The clock of a block or of a cluster.

    Attributes:
        number: its index among the clocks of the launch.
        now: the time.
        columns: the number of columns.
        current: the running group.
        cells: the columns of the cells of memory that atomic instructions release.
    """

    number: int = 0
    now: int = 1
    columns: int = 0
    current: Group = field(default_factory=lambda: Group((0, 0), (), ()))
    cells: dict[Any, int] = field(default_factory=dict)

    def tick(self) -> int:
        """Advance the time, and return it."""
        self.now += 1
        return self.now

    def column(self) -> int:
        """Add a column."""
        self.columns += 1
        return self.columns - 1

    def column_of(self, cell: Any) -> int:
        """The column of a cell's releases."""
        if cell not in self.cells:
            self.cells[cell] = self.column()
        return self.cells[cell]


class Actors:
    """The actors of a block.

    Attributes:
        cuts: the threads at which thread groups begin and end.
        block: the group of all its threads.
    """

    def __init__(self, cuts: Sequence[int], position: tuple[int, ...], clock: Clock) -> None:
        self.clock, self._position = clock, position
        spans = pairwise(cuts)
        self._all = {(a, b): Actor(clock, clock.column(), (a, b - a)) for a, b in spans}
        self._groups: dict[tuple[int, int], Group] = {}
        self.block = self.current = self.group((0, cuts[-1]))

    @property
    def current(self) -> Group:
        """The running group."""
        return self.clock.current

    @current.setter
    def current(self, group: Group) -> None:
        self.clock.current = group

    def group(self, threads: tuple[int, int]) -> Group:
        """The group of these threads of the block."""
        if threads not in self._groups:
            begin, end = threads[0], threads[0] + threads[1]
            inside = (actor for (a, b), actor in self._all.items() if begin <= a and b <= end)
            self._groups[threads] = Group(threads, tuple(inside), self._position)
        return self._groups[threads]


def meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two groups have a thread in common."""
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1]
