# SPDX-License-Identifier: Apache-2.0
"""What the interpreter finds: races, and counts of what a kernel did."""

from __future__ import annotations

from dataclasses import dataclass, field

from xtc.tile.errors import KernelError


class RaceError(KernelError):
    """Two accesses that nothing orders, or one of what is not there yet.

    Attributes:
        kind: "read before wait", "missing sync", "two blocks", ...
        first, second: the lines of both, `file:line:column`; `first` is empty where there is one.
    """

    kind = ""
    first = ""
    second = ""


class DeadlockError(KernelError):
    """Blocks, or groups of threads of one, that wait for each other for ever."""


@dataclass
class Report:
    """What a kernel did without a race.

    Attributes:
        blocks: of the grid.
        counts: operations of all blocks by name.
        copied_bytes: by asynchronous copies, from global memory.
        compiled: the same of what the compiler made of the kernel, where it waits and
            synchronizes in another way than the user wrote.
    """

    blocks: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    copied_bytes: int = 0
    compiled: Report | None = None

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return f"no race in {self.blocks} blocks: {parts or 'nothing done'}"


def race(
    kind: str, what: str, where: str, who: str, first: str, by: str, elements: str, hint: str
) -> RaceError:
    """The error for a race of an access at `where` by some threads with another one at `first`."""
    notes = [f"by {who}"]
    if elements:
        notes.insert(0, f"elements {elements} of the tensor")
    if first:
        notes.insert(0, f"the other access is at {first}" + (f", by {by}" if by else ""))
    error = RaceError(what, where=where, notes=notes, hints=[hint])
    error.kind, error.first, error.second = kind, first, where
    return error
