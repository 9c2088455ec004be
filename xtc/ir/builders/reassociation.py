# SPDX-License-Identifier: Apache-2.0
"""Reassociation of the dimensions of two shapes, for reshapes."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Reassociation:
    """Group g of the source's dimensions and group g of the target's have `sizes[g]` elements.

    The grouping is the finest possible: `(2, 3, 4) -> (2, 12)` keeps the first dimension separate.
    It is empty if either shape has rank 0.
    """

    source: Groups
    target: Groups
    sizes: tuple[int, ...]


def reassociation(source: Sequence[int], target: Sequence[int]) -> Reassociation:
    """The finest reassociation of two shapes with equal numbers of elements."""
    if not source or not target:
        return Reassociation((), (), ())
    source_groups, target_groups = (
        _cut(shape, _common_products(source, target)) for shape in (source, target)
    )
    sizes = tuple(math.prod(source[d] for d in group) for group in source_groups)
    return Reassociation(source_groups, target_groups, sizes)


def _common_products(source: Sequence[int], target: Sequence[int]) -> list[int]:
    """The element counts at which both shapes can be split."""
    first, second = (set(itertools.accumulate(s, operator.mul)) for s in (source, target))
    return sorted((first & second) - {math.prod(source)})


def _cut(shape: Sequence[int], products: Sequence[int]) -> Groups:
    ends = list(itertools.accumulate(shape, operator.mul))
    cuts = [0, *(ends.index(product) + 1 for product in products), len(shape)]
    return tuple(tuple(range(*pair)) for pair in itertools.pairwise(cuts))
