# SPDX-License-Identifier: Apache-2.0
"""Asynchronous operations of threads, in groups: copies, bulk stores and multiplications."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from xtc.ir.mlir import Operation
from xtc.tile.interpreter.actors import Actor
from xtc.tile.interpreter.elements import Array
from xtc.tile.interpreter.events import Event
from xtc.tile.interpreter.knowledge import ALWAYS
from xtc.tile.interpreter.memory import Touched
from xtc.tile.interpreter.shared import SharedMemory

T = TypeVar("T")


@dataclass
class Groups(Generic[T]):
    """The asynchronous operations of an actor, in groups that it commits.

    Attributes:
        closed: number of committed groups.
        flying: operations in flight, each with its group.
    """

    closed: int = 0
    flying: list[tuple[int, T]] = field(default_factory=list)

    def begin(self, what: T) -> None:
        """Add to the open group."""
        self.flying.append((self.closed, what))

    def commit(self) -> None:
        """Close the group."""
        self.closed += 1

    def finished(self, groups: int, keep: bool = False) -> list[T]:
        """The operations that are complete if at most `groups` committed groups are in flight;
        with -1 all, even of the open group. With `keep` they stay, to be waited for again."""
        done = self.closed - groups
        found = [what for group, what in self.flying if group < done]
        if not keep:
            self.flying = [entry for entry in self.flying if entry[0] >= done]
        return found


@dataclass(frozen=True)
class Copy:
    """An asynchronous copy by threads."""

    event: Event
    memory: SharedMemory
    touched: Touched


@dataclass
class Store:
    """A TMA store: it reads shared memory, and then writes.

    Attributes:
        value: the data that it has read; None before.
    """

    op: Operation
    memory: SharedMemory
    touched: Touched
    reads: Event
    writes: Event
    value: Array | None = None

    def note_read(self) -> None:
        """Record that it has read."""
        if self.value is None:
            self.value = self.memory.contents

    def write(self) -> None:
        """Perform the write."""
        self.note_read()
        touched = self.touched
        assert self.value is not None  # noqa: S101
        touched.memory.scatter(touched.positions, touched.inside, self.value)


@dataclass
class Beside:
    """The asynchronous operations of an actor.

    Attributes:
        fenced: whether registers are ordered before the next multiplication.
        unordered: operations that have produced tiles since then.
    """

    copies: Groups[Copy] = field(default_factory=Groups)
    stores: Groups[Store] = field(default_factory=Groups)
    multiplications: Groups[Event] = field(default_factory=Groups)
    fenced: bool = False
    unordered: set[Operation] = field(default_factory=set)


def land(event: Event, actor: Actor) -> None:
    """Record that an actor's threads have waited for their part of an operation."""
    if event.times[actor.column] == ALWAYS:
        event.times[actor.column] = actor.clock.now
