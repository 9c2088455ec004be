# SPDX-License-Identifier: Apache-2.0
"""Semaphores: what a block knows that waited for a value."""

from __future__ import annotations

from xtc.tile.interpreter.actors import Actor
from xtc.tile.interpreter.events import Event
from xtc.tile.interpreter.knowledge import NOTHING, Knowledge, common_of


class Semaphore:
    """A word, and each value that it has had with what its writer knew."""

    def __init__(self, value: int) -> None:
        self._values: list[tuple[int, Event | None, Knowledge]] = [(value, None, NOTHING)]

    def release(self, value: int, event: Event, known: Knowledge) -> None:
        """Give it a value."""
        self._values.append((value, event, known))

    def released(self, value: int, actor: Actor) -> Knowledge:
        """What is known for sure by who waited for a value, which it may have had several times.

        A value is out of the question where the next one is known.
        """
        nexts = [event for _, event, _ in self._values[1:]]
        found = [
            known
            for (its, _, known), after in zip(self._values, [*nexts, None], strict=True)
            if its == value and (after is None or actor.misses(after))
        ]
        return common_of(found)
