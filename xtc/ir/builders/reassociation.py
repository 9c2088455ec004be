# SPDX-License-Identifier: Apache-2.0
"""Which dimensions of two shapes of equal size belong together: what a reshape keeps apart."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Reassociation:
    """Group g of the source's dimensions and group g of the target's hold `sizes[g]` elements.

    Groups are as many as possible, so `(2, 3, 4) -> (2, 12)` keeps the first dimension apart. There
    are none if either shape has rank 0.
    """

    source: Groups
    target: Groups
    sizes: tuple[int, ...]


def reassociation(source: Sequence[int], target: Sequence[int]) -> Reassociation:
    """The finest grouping of the dimensions of two shapes of equal size."""
    if not source or not target:
        return Reassociation((), (), ())
    source_groups, target_groups = (
        _cut(shape, _common_products(source, target)) for shape in (source, target)
    )
    sizes = tuple(math.prod(source[d] for d in group) for group in source_groups)
    return Reassociation(source_groups, target_groups, sizes)


def _common_products(source: Sequence[int], target: Sequence[int]) -> list[int]:
    """Numbers of elements after which both shapes can be cut."""
    first, second = (set(itertools.accumulate(s, operator.mul)) for s in (source, target))
    return sorted((first & second) - {math.prod(source)})


def _cut(shape: Sequence[int], products: Sequence[int]) -> Groups:
    ends = list(itertools.accumulate(shape, operator.mul))
    cuts = [0, *(ends.index(product) + 1 for product in products), len(shape)]
    return tuple(tuple(range(*pair)) for pair in itertools.pairwise(cuts))
