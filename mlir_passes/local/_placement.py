# SPDX-License-Identifier: Apache-2.0
"""Offsets in one arena for buffers that share memory when their lifetimes are disjoint.

Greedy placement, as in production runtimes: the buffers are placed in some order, each at the
lowest offset that is free during its lifetime. No order is best for all graphs, so several are
tried.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

Key = Callable[["Extent"], tuple[int, ...]]


@dataclass(frozen=True)
class Extent:
    """The lifetime of a buffer, both ends included, and its size in bytes."""

    begin: int
    end: int
    size: int

    def meets(self, other: Extent) -> bool:
        """Whether the lifetimes overlap."""
        return self.begin <= other.end and other.begin <= self.end


_ORDERS: tuple[Key, ...] = (
    lambda extent: (-extent.size,),
    lambda extent: (-extent.size * (extent.end - extent.begin + 1),),
    lambda extent: (-(extent.end - extent.begin), -extent.size),
    lambda extent: (extent.begin, -extent.size),
)


def place(extents: Sequence[Extent], swaps: int = 0) -> list[int]:
    """An offset for each buffer, from the first of the tried orders that needs the least memory.

    With `swaps`, that many pairs of buffers are swapped in that order, one pair after the other; a
    swap that needs more memory is undone. The search ends at the lower bound. Equal inputs give
    equal offsets.
    """
    orders = [sorted(range(len(extents)), key=lambda n: key(extents[n])) for key in _ORDERS]
    plans = [_place(extents, order) for order in orders]
    sizes = [footprint(extents, offsets) for offsets in plans]
    best = sizes.index(min(sizes))
    order, offsets, size = orders[best], plans[best], sizes[best]
    least = lower_bound(extents) if swaps else size
    draw = random.Random(0)  # noqa: S311  the same in every run
    for _ in range(swaps):
        if size <= least:
            break
        tried = _swapped(order, draw)
        found = _place(extents, tried)
        if footprint(extents, found) <= size:
            order, offsets, size = tried, found, footprint(extents, found)
    return offsets


def _swapped(order: Sequence[int], draw: random.Random) -> list[int]:
    a, b = draw.sample(range(len(order)), 2)
    changed = list(order)
    changed[a], changed[b] = changed[b], changed[a]
    return changed


def footprint(extents: Sequence[Extent], offsets: Sequence[int]) -> int:
    """The size of the arena: the highest end of a buffer."""
    pairs = zip(extents, offsets, strict=True)
    return max((offset + extent.size for extent, offset in pairs), default=0)


def lower_bound(extents: Sequence[Extent]) -> int:
    """The most bytes that are live at the same time, which every placement needs."""
    changes: dict[int, int] = {}
    for extent in extents:
        changes[extent.begin] = changes.get(extent.begin, 0) + extent.size
        changes[extent.end + 1] = changes.get(extent.end + 1, 0) - extent.size
    alive = most = 0
    for time in sorted(changes):
        alive += changes[time]
        most = max(most, alive)
    return most


class _Row(IntEnum):
    """The fields of a placed buffer: its lifetime, and its bytes from `start` to `stop`."""

    START = 0
    STOP = 1
    BEGIN = 2
    END = 3


def _place(extents: Sequence[Extent], order: Sequence[int]) -> list[int]:
    offsets = [0] * len(extents)
    placed = np.empty((len(_Row), len(extents)), np.int64)  # sorted by offset
    for count, number in enumerate(order):
        extent, known = extents[number], placed[:, :count]
        at_the_time = (known[_Row.BEGIN] <= extent.end) & (known[_Row.END] >= extent.begin)
        offset = _lowest_gap(known[: _Row.BEGIN, at_the_time], extent.size)
        offsets[number] = offset
        position = int(np.searchsorted(known[_Row.START], offset))
        placed[:, position + 1 : count + 1] = placed[:, position:count]
        placed[:, position] = (offset, offset + extent.size, extent.begin, extent.end)
    return offsets


def _lowest_gap(taken: np.ndarray[Any, Any], size: int) -> int:
    """The lowest offset of `size` free bytes; `taken` is sorted by offset."""
    starts, stops = taken
    if not len(starts):
        return 0
    free = np.maximum.accumulate(np.concatenate([[0], stops]))
    fits = np.flatnonzero(free[:-1] + size <= starts)
    return int(free[fits[0]] if len(fits) else free[-1])
