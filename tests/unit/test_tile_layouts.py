# SPDX-License-Identifier: Apache-2.0
"""Register layouts: each element is held, and operations on layouts preserve elements."""

from __future__ import annotations

import itertools

import pytest

from xtc.core.errors import UserError
from xtc.core.padded_layout import padded, reshaped
from xtc.core.tile_layout import (
    RegisterLayout,
    blocked,
    column_local,
    column_spatial,
    concat,
    local,
    parse_layout,
    reduce,
    replicated,
    spatial,
)

LAYOUTS = [
    spatial(2, 4) * local(1, 2),
    local(2, 1) * spatial(8, 4) * local(1, 2),
    column_local(2, 2) * column_spatial(4, 2),
    replicated(3, 4, num_workers=2),
    blocked(32, (16, 24), 8),
    blocked(128, (5, 7), 4),
    blocked(32, (96,), 2).with_shape((3, 32)),
    (spatial(2, 2).reduced([1]) * local(2, 4)),
]


def elements(layout: RegisterLayout) -> dict[tuple[int, ...], set[int]]:
    """The threads that hold each element."""
    found: dict[tuple[int, ...], set[int]] = {}
    for thread in range(layout.spatial_size):
        for position in range(layout.local_size):
            found.setdefault(layout.element(thread, position), set()).add(thread)
    return found


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_every_element_is_held_equally_often(layout: RegisterLayout) -> None:
    found = elements(layout)
    assert set(found) == set(itertools.product(*map(range, layout.shape)))
    assert len({len(threads) for threads in found.values()}) == 1


@pytest.mark.parametrize(
    ("threads", "shape", "packed", "whole", "held"),
    [
        (96, (17, 31), 1, (18, 32), 6),
        (384, (127, 128), 4, (132, 128), 44),
        (160, (48, 48), 1, (50, 48), 15),
        (128, (64, 64), 4, (64, 64), 32),
        (32, (8,), 1, (8,), 1),
        (128, (31, 1, 20), 4, (32, 1, 32), 8),
    ],
)
def test_surplus_elements_make_every_thread_hold_fewer(
    threads: int, shape: tuple[int, ...], packed: int, whole: tuple[int, ...], held: int
) -> None:
    layout = padded(threads, shape, packed)
    assert (layout.shape, layout.local_size, layout.spatial_size) == (whole, held, threads)


def test_padded_layouts_lose_only_dimensions_of_size_one() -> None:
    layout = padded(96, (17, 31), 1)
    unsqueezed = reshaped(layout, (17, 31), (17, 1, 31))
    assert unsqueezed is not None
    assert unsqueezed.shape == (18, 1, 32)
    assert reshaped(unsqueezed, (17, 1, 31), (17, 31)) == layout
    assert reshaped(layout, (17, 31), (527,)) is None


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_text_and_merging_preserve_a_layout(layout: RegisterLayout) -> None:
    assert parse_layout(str(layout)) == layout
    assert elements(layout.merged()) == elements(layout)
    assert layout.merged().merged() == layout.merged()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_permuting_and_reshaping_preserve_the_holders_of_elements(layout: RegisterLayout) -> None:
    if len(layout.shape) != 2:
        return
    turned = layout.permuted([1, 0])
    flat = layout.with_shape((layout.shape[0] * layout.shape[1],))
    assert flat is not None
    for thread in range(layout.spatial_size):
        for position in range(layout.local_size):
            i, j = layout.element(thread, position)
            assert turned.element(thread, position) == (j, i)
            assert flat.element(thread, position) == (i * layout.shape[1] + j,)


def test_a_product_nests_the_second_in_the_first() -> None:
    layout = spatial(2, 4) * local(1, 2)
    assert [layout.element(t, p) for t in (0, 1, 4) for p in (0, 1)] == [
        *((0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)),
    ]


def test_a_reduction_replicates_over_threads() -> None:
    layout = (spatial(2, 4) * local(1, 2)).reduced([1])
    assert layout.shape == (2, 1)
    assert layout.local_size == 1
    assert elements(layout) == {(0, 0): {0, 1, 2, 3}, (1, 0): {4, 5, 6, 7}}


def test_a_reshape_that_splits_a_mode_unevenly_has_no_layout() -> None:
    assert spatial(6).with_shape((4, 3)) is None


@pytest.mark.parametrize("text", ["", "spatial(2)", "shape(2) modes(3) spatial(0) local()"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_layout(text)


def test_layouts_side_by_side_and_without_a_dimension() -> None:
    rows, columns = spatial(2) * local(3), local(2) * spatial(4)
    both = concat(rows, columns)
    assert (both.shape, both.spatial_size, both.local_size) == ((6, 8), 8, 6)
    for thread in range(8):
        first, second = rows.element(thread // 4, 1), columns.element(thread % 4, 1)
        assert both.element(thread, 3) == (*first, *second)
    flat = reduce(spatial(2, 4), [0])
    assert flat.shape == (4,)
    assert [flat.thread_offset(thread) for thread in range(8)] == [(n % 4,) for n in range(8)]
