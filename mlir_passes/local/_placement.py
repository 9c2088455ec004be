# SPDX-License-Identifier: Apache-2.0
"""Offsets in one piece of memory for buffers that share it by their lifetimes.

Greedy placement, as production runtimes do it: buffers in some order, each at the lowest offset
that is free during its lifetime. No order is best for all graphs, so several are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Key = Callable[["Extent"], tuple[int, ...]]


@dataclass(frozen=True)
class Extent:
    """When a buffer lives, both ends included, and its size in bytes."""

    begin: int
    end: int
    size: int

    def meets(self, other: Extent) -> bool:
        """Whether both live at some time."""
        return self.begin <= other.end and other.begin <= self.end


_ORDERS: tuple[Key, ...] = (
    lambda extent: (-extent.size,),
    lambda extent: (-extent.size * (extent.end - extent.begin + 1),),
    lambda extent: (-(extent.end - extent.begin), -extent.size),
    lambda extent: (extent.begin, -extent.size),
)


def place(extents: Sequence[Extent]) -> list[int]:
    """An offset for each buffer, by the first order of those that need the least memory in all."""
    plans = [_place(extents, key) for key in _ORDERS]
    return min(plans, key=lambda offsets: footprint(extents, offsets))


def footprint(extents: Sequence[Extent], offsets: Sequence[int]) -> int:
    """Bytes up to the end of the last buffer."""
    pairs = zip(extents, offsets, strict=True)
    return max((offset + extent.size for extent, offset in pairs), default=0)


def lower_bound(extents: Sequence[Extent]) -> int:
    """The most bytes that are alive at the same time, which no placement can do without."""
    changes: dict[int, int] = {}
    for extent in extents:
        changes[extent.begin] = changes.get(extent.begin, 0) + extent.size
        changes[extent.end + 1] = changes.get(extent.end + 1, 0) - extent.size
    alive = most = 0
    for time in sorted(changes):
        alive += changes[time]
        most = max(most, alive)
    return most


def _place(extents: Sequence[Extent], key: Key) -> list[int]:
    offsets: dict[int, int] = {}
    for number in sorted(range(len(extents)), key=lambda number: key(extents[number])):
        extent = extents[number]
        taken = sorted(
            (offset, offset + extents[other].size)
            for other, offset in offsets.items()
            if extent.meets(extents[other])
        )
        lowest = 0
        for begin, end in taken:
            if lowest + extent.size <= begin:
                break
            lowest = max(lowest, end)
        offsets[number] = lowest
    return [offsets[number] for number in range(len(extents))]
