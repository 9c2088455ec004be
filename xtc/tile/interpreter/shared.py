# SPDX-License-Identifier: Apache-2.0
"""Shared memory with a shadow: who wrote and read each element last, and when.

Two accesses, one of them a write, race unless the later one's actor has seen the earlier one; an
instruction does not race with itself, as each thread accesses what it holds. An asynchronous copy
of threads may write at any time from when it begins until it is waited for, and what it wrote is
seen by the threads that have waited, by others of them after the next `sync`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xtc.tile.interpreter.actors import Actor, Actors
from xtc.tile.interpreter.report import RaceError

Array = np.ndarray[Any, Any]
_NEVER = -1
_THREADS, _COPY, _TMA = 0, 1, 2  # how an element was written last

FENCE = "insert self.fence.proxy_async() after the store, and before the sync"


@dataclass(frozen=True)
class Freed:
    """The last access of an actor to memory that was given back.

    Attributes:
        hint: what helps where the access is not over.
    """

    actor: int
    time: int
    op: int
    hint: str


@dataclass
class Shadow:
    """A tensor that was allocated, as rows of elements, with the last accesses of each.

    Attributes:
        values: the elements.
        writer, write_actor, write_time: operation, actor and time of the last write of each.
        reads: by the number of an actor, operation and time of its last read of each.
        flight: the number of the asynchronous copy that writes it, or -1.
        how: how it was written last.
        unfenced: whether threads wrote it and made no proxy fence since.
        after_free: the last accesses of memory that was freed before this was allocated.
    """

    values: Array
    after_free: list[Freed]
    writer: Array = field(init=False)
    write_actor: Array = field(init=False)
    write_time: Array = field(init=False)
    flight: Array = field(init=False)
    how: Array = field(init=False)
    unfenced: Array = field(init=False)
    reads: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = self.values.size
        self.writer, self.write_time, self.flight = (
            np.full(size, _NEVER, np.int64) for _ in range(3)
        )
        self.write_actor, self.how = np.zeros(size, np.int64), np.zeros(size, np.int8)
        self.unfenced = np.zeros(size, bool)

    def reads_of(self, actor: int) -> tuple[Array, Array]:
        """Operation and time of an actor's last read of each element."""
        if actor not in self.reads:
            size = self.values.size
            self.reads[actor] = np.full(size, _NEVER, np.int64), np.full(size, _NEVER, np.int64)
        return self.reads[actor]

    def last_accesses(self) -> list[tuple[int, int, int]]:
        """Each actor with time and operation of its last write, or read, of any element."""
        found = []
        for actor in np.unique(self.write_actor):
            times = np.where(self.write_actor == actor, self.write_time, _NEVER)
            found.append((int(actor), self.writer, times))
        found += [(actor, ops, times) for actor, (ops, times) in self.reads.items()]
        latest = [(actor, int(np.argmax(times)), ops, times) for actor, ops, times in found]
        return [(a, int(t[at]), int(o[at])) for a, at, o, t in latest if t[at] != _NEVER]


@dataclass
class SharedMemory:
    """A tensor in shared memory, or a part of it.

    Attributes:
        shadow: of the tensor that was allocated.
        places: of each element, its position there.
    """

    shadow: Shadow
    positions: Array

    @staticmethod
    def new(shape: tuple[int, ...], dtype: Any, after_free: list[Freed]) -> SharedMemory:
        """Memory that nobody has written."""
        size = int(np.prod(shape))
        return SharedMemory(
            Shadow(np.zeros(size, dtype), after_free), np.arange(size).reshape(shape)
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        found: tuple[int, ...] = self.positions.shape
        return found

    def view(self, of: Callable[[Array], Array]) -> SharedMemory:
        """A part, or another order, of the elements."""
        return SharedMemory(self.shadow, of(self.positions))

    def put(self, value: Array) -> None:
        """Make the elements these."""
        self.shadow.values[self.positions] = value


class Checker:
    """Checks accesses of one block, and keeps the shadows.

    Attributes:
        actors: of the block.
        fail: makes the error of a race, from its kind, sentence, the other operation, elements and
            hint.
    """

    def __init__(
        self, fail: Callable[[str, str, int, str, str], RaceError], actors: Actors
    ) -> None:
        self.actors = actors
        self.fail = fail
        self.atomics: set[int] = set()
        self.shadows: list[Shadow] = []
        self.waited: set[tuple[int, int]] = set()  # actors, and barriers that they waited for

    def read(self, memory: SharedMemory, op: int, name: str = "load_shared") -> Array:
        """A load of a whole tensor by the current actor."""
        self._require_written(memory, name)
        self._require_seen(memory, op, name)
        self._note_read(memory, op, self.actors.current, self.actors.now)
        values: Array = memory.shadow.values[memory.positions]
        return values

    def read_beside(
        self, memory: SharedMemory, op: int, name: str, reader: Actor, time: int
    ) -> Array:
        """A read by an asynchronous actor that the current one begins."""
        self._require_written(memory, name)
        self._require_seen(memory, op, name)
        unfenced = memory.shadow.unfenced[memory.positions]
        if unfenced.any():
            raise self.fail(
                "missing proxy fence",
                f"{name} may not see what threads have stored",
                int(memory.shadow.writer[memory.positions][first(unfenced)]),
                elements(unfenced),
                FENCE,
            )
        self._note_read(memory, op, reader, time)
        values: Array = memory.shadow.values[memory.positions]
        return values

    def _note_read(self, memory: SharedMemory, op: int, reader: Actor, time: int) -> None:
        ops, times = memory.shadow.reads_of(reader.number)
        ops[memory.positions], times[memory.positions] = op, time

    def read_by_threads(self, memory: SharedMemory, op: int, reader: Actor, before: int) -> None:
        """The current threads have each waited for their part of what an actor read."""
        _, times = memory.shadow.reads_of(reader.number)
        done = memory.positions[times[memory.positions] < before]
        times[done] = _NEVER
        self._note_read(memory, op, self.actors.current, self.actors.now)

    def _require_written(self, memory: SharedMemory, name: str) -> None:
        self._require_landed(memory, f"{name} reads a tensor while a copy writes it")
        never = memory.shadow.writer[memory.positions] == _NEVER
        if never.any():
            raise self.fail(
                "undefined",
                f"{name} reads shared memory that nothing has written",
                _NEVER,
                elements(never),
                "copy or store to the tensor first",
            )

    def _require_seen(self, memory: SharedMemory, op: int, name: str) -> None:
        shadow, at = memory.shadow, memory.positions
        missed = self.actors.current.misses(shadow.write_actor[at], shadow.write_time[at])
        missed &= (shadow.writer[at] != op) | (shadow.how[at] == _TMA)
        if not missed.any():
            return
        position = first(missed)
        how, other = int(shadow.how[at][position]), int(shadow.writer[at][position])
        if how == _TMA:
            barrier = int(shadow.write_actor[at][position])
            waited = (self.actors.current.number, barrier) in self.waited
            raise self.fail(
                "wrong parity" if waited else "read before wait",
                f"{name} reads what a TMA copy writes, whose mbarrier was "
                + ("waited for in an earlier phase" if waited else "not waited for"),
                other,
                elements(missed),
                "insert self.mbarrier.wait(barrier, phase), with the parity of the copy's phase",
            )
        copied = how == _COPY
        if not self.actors.same_threads(int(shadow.write_actor[at][position])):
            raise self.fail(
                "missing sync",
                f"{name} reads what other threads have "
                f"{'copied' if copied else 'stored'}, and nothing orders both",
                other,
                elements(missed),
                "insert self.sync() for all threads of both, or an mbarrier at which one arrives "
                "and the other waits",
            )
        raise self.fail(
            "missing sync",
            f"{name} reads what other threads "
            + ("have copied" if copied else "have stored")
            + " since the last sync",
            other,
            elements(missed),
            "insert self.sync() between both"
            + (", after the wait: a thread sees its own copies only" if copied else ""),
        )

    def write(self, memory: SharedMemory, op: int, value: Array) -> None:
        """A store to a whole tensor."""
        self._require_free(memory, op, "store_shared")
        memory.put(value)
        self._note_write(memory, op, _THREADS)

    def _note_write(self, memory: SharedMemory, op: int, how: int) -> None:
        self._keep(memory.shadow)
        shadow, at = memory.shadow, memory.positions
        shadow.writer[at], shadow.how[at], shadow.flight[at] = op, how, _NEVER
        shadow.write_actor[at] = self.actors.current.number
        shadow.write_time[at], shadow.unfenced[at] = self.actors.now, True

    def _keep(self, shadow: Shadow) -> None:
        if all(known is not shadow for known in self.shadows):
            self.shadows.append(shadow)

    def fence(self) -> None:
        """What the current actor has written or seen is seen by asynchronous ones."""
        current = self.actors.current
        for shadow in self.shadows:
            missed = current.misses(shadow.write_actor, shadow.write_time)
            shadow.unfenced &= missed & (shadow.write_actor != current.number)

    def combine(self, memory: SharedMemory, positions: Array, op: int) -> None:
        """Atomic accesses to these elements, which race with others than of their kind."""
        self._scattered(memory, positions, op, "an atomic instruction")

    def scatter(self, memory: SharedMemory, positions: Array, op: int) -> None:
        """Writes of these elements."""
        self._scattered(memory, positions, op, "store_shared_scatter")

    def _scattered(self, memory: SharedMemory, positions: Array, op: int, name: str) -> None:
        if not positions.size:
            return
        at = np.unique(positions)
        picked = memory.view(lambda whole: whole.reshape(-1)[at])
        shadow, atomic = memory.shadow, name.startswith("an")
        never = shadow.writer[picked.positions] == _NEVER
        if atomic and never.any():
            raise self.fail(
                "undefined",
                "an atomic instruction reads shared memory that nothing has written",
                _NEVER,
                elements(never),
                "store to the tensor first",
            )
        others = np.isin(shadow.writer[picked.positions], list(self.atomics))
        if atomic:
            shadow.write_time[picked.positions[others]] = _NEVER
        self._require_free(picked, op, name)
        self._note_write(picked, op, _THREADS)
        if atomic:
            self.atomics.add(op)

    def begin_copy(self, memory: SharedMemory, op: int, copy: int) -> None:
        """An asynchronous copy to a whole tensor begins."""
        self._require_free(memory, op, "copy_async")
        memory.shadow.flight[memory.positions] = copy
        memory.shadow.writer[memory.positions] = op

    def end_copy(self, memory: SharedMemory, op: int, value: Array) -> None:
        """The current threads have waited for a copy, each for its own part."""
        memory.put(value)
        self._note_write(memory, op, _COPY)

    def bulk_copy(
        self, memory: SharedMemory, op: int, value: Array, writer: Actor, time: int
    ) -> None:
        """A TMA copy, which whoever has seen its phase of a barrier may read."""
        self._require_free(memory, op, "tma.global_to_shared")
        memory.put(value)
        shadow, at = memory.shadow, memory.positions
        shadow.writer[at], shadow.how[at], shadow.unfenced[at] = op, _TMA, False
        shadow.write_actor[at], shadow.write_time[at] = writer.number, time

    def free(self, memory: SharedMemory, hint: str) -> list[Freed]:
        """The last accesses of memory that is given back; what helps where they are not over."""
        self._require_landed(memory, "free_shared gives a tensor back while a copy writes it")
        return [Freed(*access, hint) for access in memory.shadow.last_accesses()]

    def _require_landed(self, memory: SharedMemory, what: str) -> None:
        flying = memory.shadow.flight[memory.positions] != _NEVER
        if flying.any():
            raise self.fail(
                "read before wait",
                what,
                int(memory.shadow.writer[memory.positions][first(flying)]),
                elements(flying),
                "insert self.copy_async_wait_all(), or copy_async_wait_group(n), and self.sync() "
                "after the copy",
            )

    def _require_free(self, memory: SharedMemory, op: int, name: str) -> None:
        self._require_landed(memory, f"{name} writes a tensor while a copy writes it")
        current, shadow, at = self.actors.current, memory.shadow, memory.positions
        for freed in shadow.after_free:
            if current.has_missed(freed.actor, freed.time):
                raise self.fail(
                    "freed while used",
                    f"{name} may write memory that was freed, and that other threads still use",
                    freed.op,
                    "of any",
                    freed.hint,
                )
        for number, (ops, times) in shadow.reads.items():
            self._require_read(memory, op, name, number, ops[at], times[at])
        missed = current.misses(shadow.write_actor[at], shadow.write_time[at])
        again = name in ("copy_async", "tma.global_to_shared")
        missed &= (shadow.writer[at] != op) | again
        if missed.any():
            raise self.fail(
                "missing sync",
                f"{name} writes what other threads have written since the last sync",
                int(shadow.writer[at][first(missed)]),
                elements(missed),
                "insert self.sync() between both",
            )

    def _require_read(
        self, memory: SharedMemory, op: int, name: str, reader: int, ops: Array, times: Array
    ) -> None:
        """Raise RaceError where an actor may still read what is to be written."""
        missed = self.actors.current.misses(np.full(times.shape, reader), times) & (ops != op)
        if not missed.any():
            return
        other, where = int(ops[first(missed)]), elements(missed)
        if not self.actors.is_group(reader):
            raise self.fail(
                "refilled while read",
                f"{name} writes what an asynchronous instruction may still read",
                other,
                where,
                "wait for it (wgmma.wait_group, tma.wait_group), and then let the writer know: "
                "sync, or arrive at an mbarrier that it waits for",
            )
        hint = "insert self.sync() after the read"
        if not self.actors.same_threads(reader):
            hint += ", or an mbarrier at which the reader arrives and the writer waits"
        raise self.fail(
            "missing sync", f"{name} writes what other threads may still read", other, where, hint
        )


def first(mask: Array) -> tuple[int, ...]:
    """The index of the first element that holds."""
    return tuple(int(n) for n in np.argwhere(mask)[0]) if mask.ndim else ()


def elements(mask: Array) -> str:
    """The smallest box around the elements that hold, as slices."""
    if not mask.ndim:
        return "[]"
    found = np.argwhere(mask)
    low, high = found.min(axis=0), found.max(axis=0)
    return f"[{', '.join(f'{a}:{b + 1}' for a, b in zip(low, high, strict=True))}]"
