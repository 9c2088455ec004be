# SPDX-License-Identifier: Apache-2.0
"""Two shapes of one size are split into the maximal number of common groups."""

from __future__ import annotations

import math
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtc.ir.builders.reassociation import reassociation


@pytest.mark.parametrize(
    ("source", "target", "groups"),
    [
        ((2, 3, 4), (2, 12), ([[0], [1, 2]], [[0], [1]])),
        ((6, 4), (2, 3, 2, 2), ([[0], [1]], [[0, 1], [2, 3]])),
        ((2, 6), (3, 4), ([[0, 1]], [[0, 1]])),
        ((1, 4), (4, 1), ([[0, 1]], [[0, 1]])),
        ((1, 1, 4), (1, 2, 2), ([[0], [1, 2]], [[0], [1, 2]])),
        ((2, 2), (2, 2), ([[0], [1]], [[0], [1]])),
        ((1, 1), (), ([], [])),
        ((), (1, 1), ([], [])),
    ],
)
def test_groups(
    source: tuple[int, ...], target: tuple[int, ...], groups: tuple[list[list[int]], ...]
) -> None:
    found = reassociation(source, target)
    assert ([list(g) for g in found.source], [list(g) for g in found.target]) == groups


@st.composite
def shapes_of_one_size(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    factors = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    both = []
    for _ in range(2):
        cuts = sorted(draw(st.sets(st.integers(1, len(factors)), max_size=5)) | {len(factors)})
        order = draw(st.permutations(factors))
        starts = [0, *cuts[:-1]]
        both.append([math.prod(order[a:b]) for a, b in zip(starts, cuts, strict=True)])
    return both[0], both[1]


@pytest.mark.slow
@given(shapes_of_one_size())
def test_every_dimension_is_in_one_group_of_equal_size(shapes: tuple[list[int], list[int]]) -> None:
    found = reassociation(*shapes)
    for shape, groups in zip(shapes, (found.source, found.target), strict=True):
        assert list(chain.from_iterable(groups)) == list(range(len(shape)))
        assert tuple(math.prod(shape[d] for d in group) for group in groups) == found.sizes


@given(st.lists(st.integers(2, 5), min_size=1, max_size=5))
def test_equal_shapes_share_no_group(shape: list[int]) -> None:
    assert all(len(group) == 1 for group in reassociation(shape, shape).source)
