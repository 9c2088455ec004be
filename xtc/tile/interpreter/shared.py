# SPDX-License-Identifier: Apache-2.0
"""Shared memory with a shadow: who wrote and read each element last, and when.

Time is the number of times that the block has synchronised. Two accesses of one time, by two
instructions, one of them a write, race: nothing says that the same threads make them. An
asynchronous copy is an actor beside the threads. It may write at any time from when it begins until
it is waited for, and what it wrote is seen by the threads that have waited, by others after the
next `sync`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.tile.interpreter.report import RaceError

Array = np.ndarray[Any, Any]
_NEVER = -1


@dataclass
class SharedMemory:
    """A tensor in shared memory, or a part of it, whose arrays are views of the whole's.

    Attributes:
        data: the elements.
        write_time, writer: of the last write of each element, and the number of its operation.
        read_time, reader: likewise of the last read.
        flight: the number of the asynchronous copy that writes it, or -1.
        by_copy: whether the last write was an asynchronous copy's.
        after_free: the last accesses of memory that was freed before this was allocated.
    """

    data: Array
    write_time: Array
    writer: Array
    read_time: Array
    reader: Array
    flight: Array
    by_copy: Array
    after_free: list[tuple[int, int]]

    @staticmethod
    def new(shape: tuple[int, ...], dtype: Any, after_free: list[tuple[int, int]]) -> SharedMemory:
        """Memory that nobody has written."""
        a, b, c, d, e = (np.full(shape, _NEVER, np.int64) for _ in range(5))
        by_copy = np.zeros(shape, bool)
        return SharedMemory(np.zeros(shape, dtype), a, b, c, d, e, by_copy, after_free)

    def view(self, of: Callable[[Array], Array]) -> SharedMemory:
        """The same view of all arrays."""
        return SharedMemory(
            of(self.data),
            of(self.write_time),
            of(self.writer),
            of(self.read_time),
            of(self.reader),
            of(self.flight),
            of(self.by_copy),
            self.after_free,
        )

    def last_access(self) -> tuple[int, int]:
        """Time and operation of the last access of any element."""
        times = np.maximum(self.write_time, self.read_time)
        at = np.unravel_index(int(np.argmax(times)), times.shape) if times.size else ()
        wrote = self.write_time[at] >= self.read_time[at]
        return int(times[at]), int(self.writer[at] if wrote else self.reader[at])


class Checker:
    """Checks accesses of one block, and keeps the shadows.

    Attributes:
        now: how often the block has synchronised.
        fail: makes the error of a race, from its kind, sentence, the other operation, elements and
            hint.
    """

    def __init__(self, fail: Callable[[str, str, int, str, str], RaceError]) -> None:
        self.now = 0
        self.fail = fail
        self.atomics: set[int] = set()

    def read(self, memory: SharedMemory, op: int) -> Array:
        """A load of a whole tensor."""
        self._require_landed(memory, "load_shared reads a tensor while a copy writes it")
        never = memory.write_time == _NEVER
        if never.any():
            raise self.fail(
                "undefined",
                "load_shared reads shared memory that nothing has written",
                _NEVER,
                elements(never),
                "copy or store to the tensor first",
            )
        fresh = (memory.write_time == self.now) & (memory.writer != op)
        if fresh.any():
            at = first(fresh)
            copied = bool(memory.by_copy[at])
            raise self.fail(
                "missing sync",
                "load_shared reads what other threads "
                + ("have copied" if copied else "have stored")
                + " since the last sync",
                int(memory.writer[at]),
                elements(fresh),
                "insert self.sync() between both"
                + (", after the wait: a thread sees its own copies only" if copied else ""),
            )
        memory.read_time[...] = self.now
        memory.reader[...] = op
        values: Array = memory.data.copy()
        return values

    def write(self, memory: SharedMemory, op: int, value: Array) -> None:
        """A store to a whole tensor."""
        self._require_free(memory, op, "store_shared")
        memory.data[...] = value
        memory.write_time[...] = self.now
        memory.writer[...] = op
        memory.by_copy[...] = False

    def combine(self, memory: SharedMemory, places: Array, op: int) -> None:
        """Atomic accesses to these elements, which race with others than of their kind."""
        self._scattered(memory, places, op, "an atomic instruction")

    def scatter(self, memory: SharedMemory, places: Array, op: int) -> None:
        """Writes of these elements."""
        self._scattered(memory, places, op, "store_shared_scatter")

    def _scattered(self, memory: SharedMemory, places: Array, op: int, name: str) -> None:
        at = np.unravel_index(np.unique(places), memory.data.shape)
        if not places.size:
            return
        picked = memory.view(lambda array: array[at])
        if memory.data.size and (picked.write_time == _NEVER).any() and name.startswith("an"):
            raise self.fail(
                "undefined",
                "an atomic instruction reads shared memory that nothing has written",
                _NEVER,
                elements(picked.write_time == _NEVER),
                "store to the tensor first",
            )
        atomic = np.isin(picked.writer, list(self.atomics))
        if name.startswith("an"):
            picked.write_time[atomic] = _NEVER
        self._require_free(picked, op, name)
        memory.write_time[at] = self.now
        memory.writer[at] = op
        memory.by_copy[at] = False
        if name.startswith("an"):
            self.atomics.add(op)

    def begin_copy(self, memory: SharedMemory, op: int, copy: int) -> None:
        """An asynchronous copy to a whole tensor begins."""
        self._require_free(memory, op, "copy_async")
        memory.flight[...] = copy
        memory.writer[...] = op

    def end_copy(self, memory: SharedMemory, op: int, value: Array) -> None:
        """The block's threads have waited for a copy, each for its own part."""
        memory.data[...] = value
        memory.flight[...] = _NEVER
        memory.write_time[...] = self.now
        memory.writer[...] = op
        memory.by_copy[...] = True

    def free(self, memory: SharedMemory) -> tuple[int, int]:
        """The last access of memory that is given back."""
        self._require_landed(memory, "free_shared gives a tensor back while a copy writes it")
        return memory.last_access()

    def _require_landed(self, memory: SharedMemory, what: str) -> None:
        flying = memory.flight != _NEVER
        if flying.any():
            raise self.fail(
                "read before wait",
                what,
                int(memory.writer[first(flying)]),
                elements(flying),
                "insert self.copy_async_wait_all(), or copy_async_wait_group(n), and self.sync() "
                "after the copy",
            )

    def _require_free(self, memory: SharedMemory, op: int, name: str) -> None:
        self._require_landed(memory, f"{name} writes a tensor while a copy writes it")
        for time, other in memory.after_free:
            if time == self.now:
                raise self.fail(
                    "freed while used",
                    f"{name} may write memory that was freed, and that other threads still use",
                    other,
                    "of any",
                    "insert self.sync() before free_shared",
                )
        used = (memory.read_time == self.now) & (memory.reader != op)
        if used.any():
            raise self.fail(
                "missing sync",
                f"{name} writes what other threads may still read",
                int(memory.reader[first(used)]),
                elements(used),
                "insert self.sync() after the read",
            )
        fresh = (memory.write_time == self.now) & ((memory.writer != op) | (name == "copy_async"))
        if fresh.any():
            raise self.fail(
                "missing sync",
                f"{name} writes what other threads have written since the last sync",
                int(memory.writer[first(fresh)]),
                elements(fresh),
                "insert self.sync() between both",
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
