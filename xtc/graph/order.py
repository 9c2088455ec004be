# SPDX-License-Identifier: Apache-2.0
"""Topological order of named things, and the cycle that prevents one."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from xtc.core.errors import UserError


def topological(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The keys in an order in which each follows those that it needs; stable.

    Needed names that are not keys count as present. Raises UserError that names a cycle.
    """
    position = {name: number for number, name in enumerate(needs)}
    names = list(needs)
    waits = {name: {need for need in needs[name] if need in position} for name in names}
    users: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        for need in waits[name]:
            users[need].append(name)
    ready = [position[name] for name in names if not waits[name]]
    ordered = []
    while ready:
        name = names[heapq.heappop(ready)]
        ordered.append(name)
        for user in users[name]:
            waits[user].discard(name)
            if not waits[user]:
                heapq.heappush(ready, position[user])
    if len(ordered) < len(names):
        raise _cyclic(waits, set(names) - set(ordered))
    return ordered


def _cyclic(waits: Mapping[str, set[str]], stuck: set[str]) -> UserError:
    """Finds a cycle: every stuck name waits for another stuck name."""
    path = [min(stuck)]
    while True:
        following = min(name for name in waits[path[-1]] if name in stuck)
        if following in path:
            cycle = path[path.index(following) :]
            first = cycle.index(min(cycle))
            cycle = [*cycle[first:], *cycle[: first + 1]]
            return CyclicError(cycle)
        path.append(following)


class CyclicError(UserError):
    """A cyclic graph; `cycle` has the names along the cycle, the first repeated at the end."""

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = tuple(cycle)
        shown = list(cycle) if len(cycle) <= 9 else [*cycle[:8], "...", cycle[-1]]
        super().__init__(
            "the graph is cyclic",
            notes=[f"{' needs '.join(repr(name) for name in shown)}"],
        )
