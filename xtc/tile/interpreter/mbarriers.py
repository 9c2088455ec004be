# SPDX-License-Identifier: Apache-2.0
"""mbarriers: phases that end when threads have arrived and copies have brought their bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xtc.core.errors import UserError
from xtc.ir.builders.tile import dims_of, location_text
from xtc.ir.mlir import Operation
from xtc.tile.interpreter.actors import Actor, Actors, Array


@dataclass(eq=False)
class MBarrier:
    """A barrier.

    Attributes:
        actor: the copies that it counts; their time is the number of a phase.
        ended: how many phases have ended.
        pending, nbytes: arrivals and bytes that the current phase lacks.
        coming, seen: what those who arrived have seen, in this phase; and in those that ended.
        last_copy: phase and operation of the last copy.
    """

    actor: Actor
    count: int
    where: str
    pending: int
    ended: int = 0
    nbytes: int = 0
    coming: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    seen: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    last_copy: tuple[int, Operation] | None = None

    def arrive(self, arrivals: int, released: Array) -> None:
        """Some arrive. Raises UserError where the phase waits for fewer."""
        if arrivals < 1 or arrivals > self.pending:
            raise UserError(
                f"{arrivals} arrivals at an mbarrier whose phase waits for {self.pending}",
                notes=[f"it was made at {self.where} for {self.count}"],
                hints=["each thread that runs arrives: `with self.single_thread():` lets one"],
            )
        self.pending -= arrivals
        self._collect(released)
        self._end()

    def brought(self, nbytes: int, op: Operation) -> None:
        """A copy has brought bytes."""
        self.last_copy = self.ended, op
        self.nbytes -= nbytes
        self._end()

    def _collect(self, released: Array) -> None:
        whole = Actor(0, None, self.coming)
        whole.see(released)
        self.coming = whole.seen

    def _end(self) -> None:
        if self.pending or self.nbytes:
            return
        self.ended += 1
        self.pending = self.count
        whole = Actor(0, None, self.seen)
        whole.see(self.coming)
        whole.see_until(self.actor.number, self.ended)
        self.seen = whole.seen

    def has_ended(self, parity: int) -> bool:
        """Whether the last phase that ended has this parity."""
        return self.ended % 2 != parity

    @property
    def lacks(self) -> str:
        """What the current phase waits for."""
        found = f"the mbarrier made at {self.where} lacks {self.pending} of {self.count} arrivals"
        if self.nbytes:
            found += f" and {self.nbytes} bytes"
        return f"{found} in its phase {self.ended}, of parity {self.ended % 2}"


def made(op: Operation, actors: Actors) -> list[MBarrier]:
    """The barriers that an operation allocates."""
    where = location_text(op.location)
    threads = actors.current.threads
    assert threads is not None  # noqa: S101
    counts = [count or threads[1] for count in dims_of(op, "counts")]
    return [
        MBarrier(actors.beside(("mbarrier", op, number)), count, where, count)
        for number, count in enumerate(counts)
    ]


def chosen(barriers: list[MBarrier], index: Any) -> MBarrier:
    """The barrier of an index. Raises UserError where there is none."""
    if not 0 <= int(index) < len(barriers):
        raise UserError(f"mbarrier {int(index)} is outside of the {len(barriers)} that there are")
    return barriers[int(index)]
