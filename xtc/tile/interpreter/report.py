# SPDX-License-Identifier: Apache-2.0
"""Results of the interpreter: races, and operation counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from xtc.tile.values.errors import KernelError


class RaceError(KernelError):
    """Two unordered accesses, or an access to data that is not available yet.

    Attributes:
        kind: "read before wait", "missing sync", "two blocks", ...
        first, second: their locations, `file:line:column`; `first` is empty if there is only one.
    """

    kind = ""
    first = ""
    second = ""


class DeadlockError(KernelError):
    """Blocks, or thread groups of a block, that wait for each other forever."""


@dataclass
class Report:
    """Operation counts of a kernel without races.

    Attributes:
        blocks: number of blocks of the grid.
        counts: operations of all blocks by name.
        copied_bytes: bytes that asynchronous copies read from global memory.
        compiled: the same for the compiled kernel, if it waits and synchronizes differently
            from the source.
    """

    blocks: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    copied_bytes: int = 0
    compiled: Report | None = None

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return f"no race in {self.blocks} blocks: {parts or 'no operations'}"


def race(
    kind: str, what: str, where: str, who: str, first: str, by: str, elements: str, hint: str
) -> RaceError:
    """The error for a race between accesses at `where` and `first`."""
    notes = [f"by {who}"]
    if elements:
        notes.insert(0, f"elements {elements} of the tensor")
    if first:
        notes.insert(0, f"the other access is at {first}" + (f", by {by}" if by else ""))
    error = RaceError(what, where=where, notes=notes, hints=[hint])
    error.kind, error.first, error.second = kind, first, where
    return error
