# SPDX-License-Identifier: Apache-2.0
"""mbarriers: phases that end when threads have arrived and copies have brought their bytes.

A wait returns at the first phase of its parity that may be the last completed one, as far as its
threads know: with another order of threads it could return then, and no later phase is certain.
So a wrong parity is found in any order of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders.tile import dims_of, location_text
from xtc.ir.mlir import Operation
from xtc.tile.interpreter.actors import Actor, Clock, Group
from xtc.tile.interpreter.events import PLAIN, Event
from xtc.tile.interpreter.knowledge import (
    NOTHING,
    Knowledge,
    all_of,
    passed_only,
    time_of,
)

_MISSED = (
    "missed phase",
    "the next phase of an mbarrier may complete before these threads wait for this one, "
    "and they would wait forever",
    "let the waiting threads arrive at another mbarrier, "
    "and the threads that complete the next phase wait for it",
)
_EARLY = (
    "early arrival",
    "an arrival for a phase of an mbarrier may come before the previous phase "
    "is complete, and count for that one",
    "insert self.mbarrier.wait(barrier, phase) for the previous phase; "
    "check the parities of earlier waits",
)


@dataclass
class _Phase:
    """A phase in progress.

    Attributes:
        known: knowledge of the threads that have arrived.
        arrivals: each one as an access by its threads.
        has_bytes: whether copies bring bytes.
    """

    known: Knowledge = NOTHING
    arrivals: list[Event] = field(default_factory=list)
    has_bytes: bool = False


@dataclass(eq=False)
class MBarrier:
    """A barrier.

    Attributes:
        clock, column: its column, whose times are the numbers of phases.
        fail: creates the error of a race from its kind, sentence, the other access and hint.
        pending, nbytes: missing arrivals and bytes of the current phase.
        phases: the phases that have begun, by number.
        ends: the knowledge after a number of phases.
        waits: the waits for each number of completed phases.
    """

    clock: Clock
    column: int
    count: int
    where: str
    fail: Callable[[str, str, Event, str], BaseException]
    pending: int = 0
    nbytes: int = 0
    phases: list[_Phase] = field(default_factory=lambda: [_Phase()])
    ends: list[Knowledge] = field(default_factory=lambda: [NOTHING])
    waits: dict[int, list[Event]] = field(default_factory=dict)
    last_copy: tuple[int, Operation] | None = None

    @property
    def ended(self) -> int:
        """The number of completed phases."""
        return len(self.phases) - 1

    def arrive(self, arrivals: int, group: Group, op: int) -> None:
        """Threads arrive. Raises UserError if the phase expects fewer arrivals, and RaceError if
        the previous phase may not be complete."""
        if arrivals < 1 or arrivals > self.pending:
            raise UserError(
                f"{arrivals} arrivals at an mbarrier whose phase expects {self.pending} more",
                notes=[f"it was allocated at {self.where} for {self.count}"],
                hints=["each active thread arrives; `with self.single_thread():` lets one arrive"],
            )
        before = self.phases[self.ended - 1].arrivals if self.ended else []
        if before and any(self._known_to(actor) < self.ended for actor in group.actors):
            unseen = [event for event in before if event.threads != group.threads]
            raise self.fail(_EARLY[0], _EARLY[1], (unseen or before)[0], _EARLY[2])
        phase = self.phases[-1]
        phase.arrivals.append(_noted(group, op, group.actors))
        phase.known = all_of((phase.known, group.released_by_all()))
        self.pending -= arrivals
        self._end()

    def expect(self, nbytes: int) -> None:
        """Announce bytes of copies."""
        self.nbytes += nbytes
        self.phases[-1].has_bytes |= nbytes > 0

    def brought(self, nbytes: int, op: Operation, begun_by: Group) -> None:
        """Record bytes that a copy has transferred."""
        self.last_copy = self.ended, op
        phase = self.phases[-1]
        phase.has_bytes = True
        phase.known = all_of((phase.known, passed_only(begun_by.released_by_all())))
        self.nbytes -= nbytes
        self._end()

    def _end(self) -> None:
        if self.pending or self.nbytes:
            return
        self._require_looked(self.waits.pop(self.ended, []), self.phases[-1].known)
        own = self.phases[-1].known.with_own(self.clock.number, (self.column,), self.ended + 1)
        self.ends.append(all_of((self.ends[-1], own)))
        self.phases.append(_Phase())
        self.pending = self.count

    def _require_looked(self, waits: list[Event], known: Knowledge) -> None:
        """Raise RaceError if the threads of a warp may not have waited; they wait together."""
        for wait in waits:
            if all(time_of(known.passed, wait.clock, c) <= t for c, t in wait.times.items()):
                raise self.fail(_MISSED[0], _MISSED[1], wait, _MISSED[2])

    def has_ended(self, parity: int) -> bool:
        """Whether the last completed phase has this parity."""
        return self.ended % 2 != parity

    def waited(self, parity: int, group: Group, op: int) -> None:
        """Record a wait. Raises RaceError if the next phase may have completed before it."""
        wanted = {}
        for actor in group.actors:
            known = self._known_to(actor)
            wanted[actor] = phases = known + (known % 2 == parity)
            if phases < self.ended:
                last = self.phases[phases].arrivals[-1]
                raise self.fail(_MISSED[0], _MISSED[1], last, _MISSED[2])
            actor.learn(self.ends[phases])
        for warp in group.warps:
            phases = max(wanted[actor] for actor in warp)
            self.waits.setdefault(phases, []).append(_noted(group, op, warp))
        self.clock.tick()

    def _known_to(self, actor: Actor) -> int:
        """The number of phases that an actor knows to be complete."""
        known = time_of(actor.known.passed, self.clock.number, self.column)
        while known < self.ended and self._all_seen(self.phases[known], actor):
            known += 1
        return known

    @staticmethod
    def _all_seen(phase: _Phase, actor: Actor) -> bool:
        return not phase.has_bytes and not any(map(actor.misses, phase.arrivals))

    @property
    def lacks(self) -> str:
        """A description of the missing arrivals and bytes of the current phase."""
        found = (
            f"the mbarrier allocated at {self.where} lacks {self.pending} of {self.count} arrivals"
        )
        if self.nbytes:
            found += f" and {self.nbytes} bytes"
        return f"{found} in its phase {self.ended}, of parity {self.ended % 2}"


def _noted(group: Group, op: int, actors: Sequence[Actor]) -> Event:
    clock = group.actors[0].clock
    times = dict.fromkeys((actor.column for actor in actors), clock.now)
    return Event(op, PLAIN, clock.number, times, None, group.threads, group.position)


def made(
    op: Operation, group: Group, fail: Callable[[str, str, Event, str], BaseException]
) -> list[MBarrier]:
    """The barriers that an operation allocates."""
    where, clock = location_text(op.location), group.actors[0].clock
    counts = [count or group.threads[1] for count in dims_of(op, "counts")]
    return [MBarrier(clock, clock.column(), n, where, fail, pending=n) for n in counts]


def chosen(barriers: list[MBarrier], index: Any) -> MBarrier:
    """The barrier at an index. Raises UserError if it does not exist."""
    if not 0 <= int(index) < len(barriers):
        raise UserError(
            f"mbarrier {int(index)} is outside of the {len(barriers)} allocated ones",
            hints=["allocate more, or take the index modulo their number: barriers[i % n]"],
        )
    return barriers[int(index)]
