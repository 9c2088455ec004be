# SPDX-License-Identifier: Apache-2.0
"""Extents: which positions of a padded dimension hold elements of the unpadded graph.

A dimension is a row-major product of factors, outermost first, each with its size in the unpadded
graph and in the padded one. A position is valid where each of its factors lies below the former.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

Factor = tuple[int, int]
Extent = tuple[Factor, ...]
Array = np.ndarray[Any, Any]


def whole(size: int) -> Extent:
    """A dimension without padding."""
    return canonical([(size, size)])


def leading(size: int, padded: int) -> Extent:
    """A dimension whose first `size` of `padded` positions are valid."""
    return canonical([(size, padded)])


def canonical(factors: Sequence[Factor]) -> Extent:
    """The extent in canonical form: an unpadded factor is merged with the next outer one."""
    result: list[Factor] = []
    for size, padded in factors:
        if padded == 1:
            continue
        if result and size == padded:
            outer = result.pop()
            result.append((outer[0] * size, outer[1] * padded))
        else:
            result.append((size, padded))
    return tuple(result)


def sizes(extent: Extent) -> Factor:
    """The dimension's size in the unpadded graph and in the padded one."""
    return reduce(lambda a, b: (a[0] * b[0], a[1] * b[1]), extent, (1, 1))


def is_whole(extent: Extent) -> bool:
    """Whether all positions are valid."""
    return all(size == padded for size, padded in extent)


def is_leading(extent: Extent) -> bool:
    """Whether the valid positions are the first ones."""
    return len(extent) <= 1


def valid(extent: Extent) -> Array:
    """A flag for each position of the padded dimension."""
    flags: Array = np.ones(1, np.bool_)
    for size, padded in extent:
        flags = np.logical_and.outer(flags, np.arange(padded) < size).reshape(-1)
    return flags


def regrouped(extents: Sequence[Extent], unpadded: Sequence[int], padded: Sequence[int]) -> Any:
    """The extents after a row-major reshape to these sizes; None if undecidable."""
    factors = [factor for extent in extents for factor in extent]
    result = []
    for wanted in zip(unpadded, padded, strict=True):
        taken: list[Factor] = []
        while (have := sizes(tuple(taken))) != wanted:
            split = _split(factors.pop(0), have, wanted) if factors else None
            if split is None:
                return None
            taken.append(split[0])
            if split[1] != (1, 1):
                factors.insert(0, split[1])
        result.append(canonical(taken))
    return None if factors else result


def _split(factor: Factor, have: Factor, wanted: Factor) -> tuple[Factor, Factor] | None:
    """Splits a factor at the boundary between `have` and `wanted`; returns both parts."""
    if any(n % m for n, m in zip(wanted, have, strict=True)):
        return None
    room = (wanted[0] // have[0], wanted[1] // have[1])
    if _divides(factor, room):
        return factor, (1, 1)
    if not _divides(room, factor):
        return None
    inner = (factor[0] // room[0], factor[1] // room[1])
    return (room, inner) if inner[0] == inner[1] else None


def _divides(a: Factor, b: Factor) -> bool:
    return b[0] % a[0] == 0 and b[1] % a[1] == 0
