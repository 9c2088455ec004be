# SPDX-License-Identifier: Apache-2.0
"""Groups of a block's threads: `with self.thread_group(begin, size):` and its short forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.values.runtime import Data

WARP = 32
_CONSTANTS = (
    "write constants, as a loop over self.range(n, unroll='all') has them; a condition on run-time "
    "numbers goes inside the group"
)


@dataclass(frozen=True)
class ThreadGroup:
    """Threads from `begin` on, counted from the first thread of the block."""

    begin: int
    size: int


def thread_group(begin: Any, size: Any, name: str) -> ThreadGroup:
    """A group of the active threads. Raises UserError if they cannot form a group."""
    for number in (begin, size):
        if isinstance(number, Data | bool) or not isinstance(number, int):
            raise UserError(
                f"{name} takes constant numbers of threads, not {number!r}",
                hints=[_CONSTANTS],
            )
    around = tile.current_group()
    if begin < 0 or size < 1 or (around is not None and begin + size > around[1]):
        has = "the block's" if around is None else f"{around[1]}, as the group around it"
        raise UserError(f"{name}: threads {begin} to {begin + size - 1} of {has}")
    warps = tile.block_warps()
    if around is None and warps is not None and begin + size > warps * WARP:
        raise UserError(
            f"{name}: threads {begin} to {begin + size - 1} of {warps * WARP}",
            notes=[f"attrs.warps = {warps}, of {WARP} threads each"],
            hints=[f"raise attrs.warps to {-(-(begin + size) // WARP)}"],
        )
    first = begin + (0 if around is None else around[0])
    if size > 1 and (first % WARP or size % WARP):
        raise UserError(
            f"{name}: threads {first} to {first + size - 1} are not a group",
            notes=[f"a group is whole warps of {WARP} threads, or one thread"],
            hints=["thread_group(0, 128), or single_thread()"],
        )
    return ThreadGroup(first, size)


def threads_now() -> tuple[int, int]:
    """The first active thread and the number of active threads. Raises UserError before
    `attrs.warps` is set."""
    group = tile.current_group()
    if group is not None:
        return group
    warps = tile.block_warps()
    if warps is None:
        raise UserError(
            "attrs.warps is not set yet", hints=["set it at the beginning of the kernel"]
        )
    return 0, warps * WARP


def group_left() -> UserError:
    """The error for threads that leave their group before its end."""
    return UserError(
        "a group of threads cannot be left by return, break or continue",
        notes=["the other threads of the block would continue"],
        hints=["make the statements that follow in the group conditional"],
    )


class ThreadGroups:
    """Instructions that select threads and query the active ones."""

    @property
    def current_thread_begin(self) -> int:
        """The first active thread of the block."""
        return threads_now()[0]

    @property
    def current_thread_end(self) -> int:
        """The end of the active threads, exclusive."""
        begin, size = threads_now()
        return begin + size

    @property
    def current_num_threads(self) -> int:
        """The number of active threads."""
        return threads_now()[1]

    def thread_group(self, thread_begin: int, num_threads: int) -> ThreadGroup:
        """Run a `with` block by these threads, counted from the first active one."""
        return thread_group(thread_begin, num_threads, "thread_group")

    def single_thread(self, thread: int = -1) -> ThreadGroup:
        """Run a `with` block by one thread; -1 lets the compiler choose."""
        return thread_group(0 if thread == -1 else thread, 1, "single_thread")

    def single_warp(self, warp: int = 0) -> ThreadGroup:
        """Run a `with` block by one warp."""
        return thread_group(_warps(warp, "single_warp"), WARP, "single_warp")

    def warp_group(self, warp_begin: int, num_warps: int) -> ThreadGroup:
        """Run a `with` block by consecutive warps."""
        begin, size = (_warps(number, "warp_group") for number in (warp_begin, num_warps))
        return thread_group(begin, size, "warp_group")


def _warps(number: Any, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise UserError(
            f"{name} takes constant numbers of warps, not {number!r}",
            hints=[_CONSTANTS],
        )
    return number * WARP
