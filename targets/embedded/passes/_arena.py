# SPDX-License-Identifier: Apache-2.0
"""Offsets of buffers in an arena, such that those that live together do not overlap."""

from __future__ import annotations

import random
from collections.abc import Sequence

from xtc_passes.local._lifetimes import Buffer

_TRIES = 400  # orders that are tried where the first is not the best possible


def arena_offsets(buffers: Sequence[Buffer]) -> dict[Buffer, int]:
    """An offset for each buffer, in little memory.

    Each buffer in turn gets the lowest offset that is free during its lifetime. The largest come
    first; from there, two buffers change places in the order as long as that does no harm, until
    the most that lives at once is reached. The same buffers always get the same offsets.
    """
    order = sorted(buffers, key=lambda buffer: -buffer.nbytes)
    least = most_alive(buffers)
    best = _first_fit(order)
    draw = random.Random(0)  # noqa: S311  no secret
    for _ in range(_TRIES):
        if len(order) < 2 or _end(best) <= least:
            break
        a, b = draw.sample(range(len(order)), 2)
        tried = list(order)
        tried[a], tried[b] = tried[b], tried[a]
        found = _first_fit(tried)
        if _end(found) <= _end(best):
            order, best = tried, found
    return best


def most_alive(buffers: Sequence[Buffer]) -> int:
    """The largest sum of the sizes of buffers that live at the same time."""
    times = {buffer.begin for buffer in buffers}
    return max(
        (sum(b.nbytes for b in buffers if b.begin <= time <= b.end) for time in times), default=0
    )


def _first_fit(order: Sequence[Buffer]) -> dict[Buffer, int]:
    placed: dict[Buffer, int] = {}
    for buffer in order:
        taken = sorted(
            (offset, offset + other.nbytes)
            for other, offset in placed.items()
            if buffer.begin <= other.end and other.begin <= buffer.end
        )
        offset = 0
        for begin, end in taken:
            if offset + buffer.nbytes <= begin:
                break
            offset = max(offset, end)
        placed[buffer] = offset
    return placed


def _end(placed: dict[Buffer, int]) -> int:
    return max((offset + buffer.nbytes for buffer, offset in placed.items()), default=0)
