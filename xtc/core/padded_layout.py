# SPDX-License-Identifier: Apache-2.0
"""Default layouts of tiles whose sizes the number of threads does not divide.

17 x 31 elements cannot be divided evenly among 96 threads: each of them would hold all 527. The
layout of a tile of 18 x 32 elements gives each thread six, some of which lie outside the tile.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

from xtc.core.tile_layout import RegisterLayout, blocked

_FEW = 8
"""Elements that each thread may hold, whatever their number in a padded tile."""

_PADDED = 3
"""Dimensions that may be padded: the last ones."""


def padded(threads: int, shape: Sequence[int], packed: int) -> RegisterLayout:
    """The default layout, of a larger tile where threads hold less than half as many elements then.

    The arguments are those of `blocked`. Vectors of `packed` elements lie inside the tile as a
    whole, or outside.
    """
    return _padded(threads, tuple(shape), packed)


def reshaped(
    layout: RegisterLayout, before: Sequence[int], after: Sequence[int]
) -> RegisterLayout | None:
    """The layout of a tile of shape `before` for the same elements in another shape.

    None if a mode would span two dimensions, or if elements outside the tile would come between
    those inside.
    """
    if layout.shape == tuple(before):
        return layout.with_shape(after)
    if [size for size in before if size > 1] != [size for size in after if size > 1]:
        return None
    wide = [n for n, size in zip(layout.shape, before, strict=True) if size > 1]
    if math.prod(wide) != layout.size:
        return None
    left = iter(wide)
    return layout.with_shape([next(left) if size > 1 else 1 for size in after])


@lru_cache(maxsize=1024)
def _padded(threads: int, shape: tuple[int, ...], packed: int) -> RegisterLayout:
    exact = blocked(threads, shape, packed)
    if exact.local_size <= _FEW:
        return exact
    packed = math.gcd(packed, shape[-1])
    units = [*shape[:-1], shape[-1] // packed]
    divisors = [n for n in range(1, threads + 1) if threads % n == 0]
    sizes = [[size] for size in units[:-_PADDED]]
    sizes += [
        sorted({-(-size // n) * n for n in divisors if n < 2 * size}) for size in units[-_PADDED:]
    ]
    least = min(itertools.product(*sizes), key=lambda found: (_held(threads, found), *found[::-1]))
    if exact.local_size <= 2 * packed * _held(threads, least):
        return exact
    return blocked(threads, (*least[:-1], least[-1] * packed), packed)


def _held(threads: int, units: Sequence[int]) -> int:
    """Elements of a thread in the default layout of a tile of single elements."""
    left = threads
    for size in reversed(units):
        left //= math.gcd(left, size)
    return math.prod(units) * left // threads
