# SPDX-License-Identifier: Apache-2.0
"""Semaphores: the knowledge that a block acquires when it waits for a value."""

from __future__ import annotations

from xtc.tile.interpreter.actors import Actor
from xtc.tile.interpreter.events import Event
from xtc.tile.interpreter.knowledge import NOTHING, Knowledge, common_of


class Semaphore:
    """A word, and each of its past values with the knowledge of its writer."""

    def __init__(self, value: int) -> None:
        self._values: list[tuple[int, Event | None, Knowledge]] = [(value, None, NOTHING)]

    def release(self, value: int, event: Event, known: Knowledge) -> None:
        """Set its value."""
        self._values.append((value, event, known))

    def released(self, value: int, actor: Actor) -> Knowledge | None:
        """The knowledge that waiting for a value guarantees, even if it was written several times.

        A past value is excluded if its successor is known. None if no release has set the value.
        """
        nexts = [event for _, event, _ in self._values[1:]]
        found = [
            known
            for (its, _, known), after in zip(self._values, [*nexts, None], strict=True)
            if its == value and (after is None or actor.misses(after))
        ]
        return common_of(found) if found else None
