# SPDX-License-Identifier: Apache-2.0
"""Shared memory, and the accesses of a block to it.

Two accesses, one of them a write, race unless all threads of the later one have seen the earlier
one. An instruction does not race with itself on the same part, because each thread accesses
its own elements. An asynchronous operation accesses memory at any time from its begin until each
of the threads that began it has waited for its own part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from xtc.tile.interpreter.actors import SHARED, Actors
from xtc.tile.interpreter.elements import Array, elements
from xtc.tile.interpreter.events import (
    ATOMIC,
    BULK_LOAD,
    BULK_STORE,
    COPY,
    MULTIPLY,
    PLAIN,
    Event,
    Events,
    History,
)
from xtc.tile.interpreter.report import RaceError

FENCE = "insert self.fence.proxy_async() after the store, and before the sync"
_OTHERS = (
    "insert self.sync() for all threads of both, "
    "or an mbarrier where one arrives and the other waits"
)
_LANDS = (
    "insert self.copy_async_wait_all(), or copy_async_wait_group(n), and self.sync() after the copy"
)
_DONE = (
    "wait for it (wgmma.wait_group, tma.wait_group), and then notify the writer: "
    "sync, or arrive at an "
    "mbarrier that it waits for"
)

Fail = Callable[[str, str, "Event | int | None", str, str], RaceError]
"""Creates the error of a race from its kind, sentence, the other access, elements and hint."""


@dataclass
class Shadow:
    """An allocated tensor, as rows of elements, with the last accesses of each.

    Attributes:
        after_free: the last accesses to previously freed memory, each with a hint if
            it is pending.
        freed: the operation that freed it, or -1.
    """

    values: Array
    after_free: list[tuple[Event, str]]
    history: History
    freed: int = -1


@dataclass
class SharedMemory:
    """A tensor in shared memory or a part of it, with the position of each element."""

    shadow: Shadow
    positions: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        found: tuple[int, ...] = self.positions.shape
        return found

    def view(self, of: Callable[[Array], Array]) -> SharedMemory:
        """A part or a permutation of the elements."""
        return SharedMemory(self.shadow, of(self.positions))

    def put(self, value: Array) -> None:
        """Write the elements."""
        self.shadow.values[self.positions] = value

    @property
    def contents(self) -> Array:
        """The elements."""
        found: Array = self.shadow.values[self.positions]
        return found


class MakesEvents(Protocol):
    """Creates the events of the running group."""

    def __call__(
        self, op: int, kind: int, *, held: Any = None, times: dict[int, int] | None = None
    ) -> Event: ...


@dataclass
class Checker:
    """Checks accesses of one block to shared memory."""

    actors: Actors
    fail: Fail
    event: MakesEvents
    events: Events = field(default_factory=Events)

    def allocate(
        self, shape: tuple[int, ...], dtype: Any, after_free: Iterable[tuple[Event, str]]
    ) -> SharedMemory:
        """Allocate uninitialized memory."""
        size = int(np.prod(shape))
        kept = [(e, hint) for e, hint in after_free if self.actors.block.misses(e)]
        shadow = Shadow(np.zeros(size, dtype), kept, History(size, self.events))
        return SharedMemory(shadow, np.arange(size).reshape(shape))

    def read(self, memory: SharedMemory, op: int, name: str = "load_shared") -> Array:
        """Check a load of a whole tensor by the current group."""
        self._note_read(memory, self.event(op, PLAIN, held=_part(memory, op)), name)
        return memory.contents

    def read_beside(self, memory: SharedMemory, event: Event, name: str) -> Array:
        """Check a read by an asynchronous operation of the current group."""
        for other, where in memory.shadow.history.writes_at(memory.positions):
            if any(a.is_unshown(other, SHARED) for a in self.actors.current.actors):
                self._require_seen(memory, event, name)
                what = f"{name} may not see data that threads have stored"
                raise self.fail("missing proxy fence", what, other, elements(where()), FENCE)
        self._note_read(memory, event, name)
        return memory.contents

    def _note_read(self, memory: SharedMemory, event: Event, name: str) -> None:
        self._require_alive(memory, name)
        self._require_seen(memory, event, name)
        history, misses = memory.shadow.history, self.actors.current.misses
        history.read(memory.positions, self.events.number(event), misses)

    def _require_alive(self, memory: SharedMemory, name: str) -> None:
        if memory.shadow.freed >= 0:
            raise self.fail(
                "used after free",
                f"{name} uses a tensor after free_shared",
                memory.shadow.freed,
                elements(np.ones(memory.shape, bool)),
                "free it after its last use, outside of the loop",
            )

    def _require_seen(self, memory: SharedMemory, event: Event, name: str) -> None:
        history, at = memory.shadow.history, memory.positions
        misses = self.actors.current.misses
        for other, where in history.writes_at(at):
            if misses(other) and not _same(other, event):
                raise self._unseen(other, elements(where()), name)
        for other, where in history.atomics_at(at):
            if misses(other):
                raise self._unseen(other, elements(where()), name)
        never = history.never(at)
        if never.any():
            raise self.fail(
                "undefined",
                f"{name} reads shared memory that nothing has written",
                None,
                elements(never),
                "copy or store to the tensor first",
            )

    def _unseen(self, other: Event, where: str, name: str) -> RaceError:
        if other.kind == BULK_LOAD:
            return self.fail(*self._not_waited(other, name)[:2], other, where, _PARITY)
        if other.is_flying:
            what = f"{name} reads a tensor while a copy writes it"
            return self.fail("read before wait", what, other, where, _LANDS)
        did = {COPY: "copied", ATOMIC: "changed"}.get(other.kind, "stored")
        if other.threads == self.actors.current.threads:
            what = f"{name} reads data that other threads have {did} since the last sync"
            own = ", after the wait: a thread sees its own copies only" if did == "copied" else ""
            return self.fail(
                "missing sync", what, other, where, f"insert self.sync() between both{own}"
            )
        what = f"{name} reads data that other threads have {did}, and nothing orders the accesses"
        return self.fail("missing sync", what, other, where, _OTHERS)

    def _not_waited(self, other: Event, name: str) -> tuple[str, str]:
        """Kind and sentence of the error if a bulk load's phase may not be complete."""
        what = f"{name} reads data that a TMA copy writes, whose mbarrier was "
        known = (actor.known.seen.get(other.clock, ()) for actor in self.actors.current.actors)
        waited = any(c < len(k) and k[c] for k in known for c in other.times)
        if waited:
            return "wrong parity", what + "waited for in an earlier phase"
        return "read before wait", what + "not waited for"

    def write(self, memory: SharedMemory, op: int, value: Array) -> None:
        """Check a store to a whole tensor."""
        self._note_write(memory, self.event(op, PLAIN, held=_part(memory, op)), "store_shared")
        memory.put(value)

    def scatter(self, memory: SharedMemory, positions: Array, op: int) -> None:
        """Check writes of these elements, which other threads may hold in the next execution."""
        if positions.size:
            held = op, hash(positions.tobytes())
            event = self.event(op, PLAIN, held=held)
            self._note_write(_picked(memory, positions), event, "store_shared_scatter")

    def combine(self, memory: SharedMemory, positions: Array, op: int) -> None:
        """Check atomic accesses to these elements, which do not race with other atomic accesses."""
        if not positions.size:
            return
        name, picked = "an atomic instruction", _picked(memory, positions)
        self._require_alive(picked, name)
        self._require_free(picked, self.event(op, ATOMIC), name)
        never = picked.shadow.history.never(picked.positions)
        if never.any():
            raise self.fail(
                "undefined",
                f"{name} reads shared memory that nothing has written",
                None,
                elements(never),
                "store to the tensor first",
            )
        number = self.events.number(self.event(op, ATOMIC))
        history, misses = picked.shadow.history, self.actors.current.misses
        history.combine(picked.positions, number, misses)

    def begin_write(self, memory: SharedMemory, event: Event, name: str) -> None:
        """Check an asynchronous write of a whole tensor by the current group."""
        self._note_write(memory, event, name)

    def _note_write(self, memory: SharedMemory, event: Event, name: str) -> None:
        self._require_alive(memory, name)
        self._require_free(memory, event, name)
        memory.shadow.history.write(memory.positions, self.events.number(event))

    def free(self, memory: SharedMemory, op: int, hint: str) -> list[tuple[Event, str]]:
        """The last accesses to freed memory, with hints for pending ones."""
        memory.shadow.freed = op
        for other, where in memory.shadow.history.writes_at(memory.positions):
            if other.kind == COPY and other.is_flying:
                what = "free_shared frees a tensor while a copy writes it"
                raise self.fail("read before wait", what, other, elements(where()), _LANDS)
        return [(event, hint) for event in memory.shadow.history.all()]

    def _require_free(self, memory: SharedMemory, event: Event, name: str) -> None:
        shadow, at, misses = memory.shadow, memory.positions, self.actors.current.misses
        for other, hint in shadow.after_free:
            if misses(other):
                what = f"{name} may write memory that was freed, and that other threads still use"
                where = elements(np.ones(memory.shape, bool))
                raise self.fail("freed while used", what, other, where, hint)
        for other, mask in shadow.history.reads_at(at):
            if misses(other):
                raise self._still_read(other, elements(mask()), name)
        for other, mask in shadow.history.writes_at(at):
            if misses(other) and not _same(other, event):
                raise self._written_before(other, elements(mask()), name)
        if event.kind != ATOMIC:
            for other, mask in shadow.history.atomics_at(at):
                if misses(other):
                    raise self._written_before(other, elements(mask()), name)

    def _written_before(self, other: Event, where: str, name: str) -> RaceError:
        if other.is_flying or other.kind == BULK_LOAD:
            what = f"{name} writes a tensor while a copy writes it"
            hint = _PARITY if other.kind == BULK_LOAD else _LANDS
            return self.fail("read before wait", what, other, where, hint)
        what = f"{name} overwrites data that other threads have written since the last sync"
        hint = "insert self.sync() between both"
        if other.threads != self.actors.current.threads:
            what, hint = f"{name} overwrites data that other threads have written", _OTHERS
        return self.fail("missing sync", what, other, where, hint)

    def _still_read(self, other: Event, where: str, name: str) -> RaceError:
        if other.kind in (BULK_STORE, MULTIPLY) and other.is_flying:
            what = f"{name} overwrites data that an asynchronous instruction may still read"
            return self.fail("refilled while read", what, other, where, _DONE)
        hint = "insert self.sync() after the read"
        if other.threads != self.actors.current.threads:
            hint += ", or an mbarrier at which the reader arrives and the writer waits"
        what = f"{name} overwrites data that other threads may still read"
        return self.fail("missing sync", what, other, where, hint)


_PARITY = "insert self.mbarrier.wait(barrier, phase), with the parity of the copy's phase"


def _part(memory: SharedMemory, op: int) -> tuple[int, int]:
    """A key for the part of a tensor that an instruction accesses."""
    return op, int(memory.positions.flat[0])


def _same(other: Event, event: Event) -> bool:
    """Whether both have the same elements in the same threads, so that program order applies."""
    return event.held is not None and other.held == event.held and other.kind == event.kind


def _picked(memory: SharedMemory, positions: Array) -> SharedMemory:
    at = np.unique(positions)
    return memory.view(lambda whole: whole.reshape(-1)[at])
