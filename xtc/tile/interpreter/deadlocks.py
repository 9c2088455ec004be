# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of blocks and thread groups that wait for each other forever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.tile.interpreter.coroutines import Task
from xtc.tile.interpreter.report import DeadlockError

MOST_BLOCKS = 1024
"""The most blocks that the interpreter runs at a time; each has a thread of this process."""

_HINT = (
    "another group or block must do what each waits for: arrive at the mbarrier as often as it "
    "counts, copy the bytes that it expects, or release the semaphore; also check the parities"
)


@dataclass(frozen=True)
class Residency:
    """The blocks that a machine holds at the same time.

    Attributes:
        blocks: their number, a multiple of the blocks of a cluster.
        why: the resources that they need, for messages.
    """

    blocks: int
    why: str


def resident(residency: Residency | None) -> int:
    """The blocks that run at a time."""
    return min(MOST_BLOCKS, residency.blocks) if residency is not None else MOST_BLOCKS


def deadlock(
    tasks: Sequence[Task], not_begun: int = 0, residency: Residency | None = None
) -> DeadlockError:
    """The error for tasks that all wait, while other blocks have not begun."""
    inner = sorted(tasks, key=lambda task: not task.is_part)
    lines = [f"at {task.where}: {task.waits_for()}" for task in inner][:8]
    hint = _HINT
    if not_begun and residency is not None:
        most = resident(residency)
        is_machine = most == residency.blocks
        why = residency.why if is_machine else f"the machine holds {residency.blocks}"
        holder = "the machine" if is_machine else "the interpreter"
        lines.append(
            f"{not_begun} blocks have not begun: {holder} holds {most} at the same time ({why})"
        )
        verb = "launch" if is_machine else "check"
        hint = f"{verb} at most {most} blocks, or let blocks wait for lower-numbered blocks only"
    who = "group of threads" if inner[0].is_part else "block"
    return DeadlockError(
        f"every {who} waits, and none can continue",
        where=inner[0].where,
        notes=lines,
        hints=[hint],
    )
