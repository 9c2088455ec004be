# SPDX-License-Identifier: Apache-2.0
"""Sliding windows: the number of positions and the number of covered elements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtc.core.errors import UserError
from xtc.ops.window import Slide, canonical_padding

slides = st.builds(
    Slide,
    size=st.integers(1, 9),
    window=st.integers(1, 4),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 4),
    before=st.integers(0, 5),
    after=st.integers(0, 5),
)


def covered(slide: Slide) -> list[list[int]]:
    """Elements under the window at each position, counted explicitly."""
    found = []
    start = -slide.before
    while start + (slide.window - 1) * slide.dilation < slide.size + slide.after:
        taps = (start + tap * slide.dilation for tap in range(slide.window))
        found.append([tap for tap in taps if 0 <= tap < slide.size])
        start += slide.stride
    return found


@given(slides)
def test_positions_and_counts(slide: Slide) -> None:
    positions = covered(slide)
    assert max(slide.output, 0) == len(positions)
    if positions:
        assert slide.counts().tolist() == [len(elements) for elements in positions]


@given(st.integers(1, 20), st.integers(1, 5), st.integers(1, 5), st.integers(1, 3))
def test_same_gives_the_size_divided_by_the_stride(
    size: int, window: int, stride: int, dilation: int
) -> None:
    border = canonical_padding(
        "op", "same", (size, size), (window, window), (stride, stride), (dilation, dilation)
    )
    before, after = border[0]
    assert border[1] == border[0]
    assert before <= after <= before + 1
    assert Slide(size, window, stride, dilation, before, after).output == -(-size // stride)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        (2, ((2, 2), (2, 2))),
        ((1, 2), ((1, 1), (2, 2))),
        ([1, 2], ((1, 1), (2, 2))),
        (((0, 1), (2, 3)), ((0, 1), (2, 3))),
        ([[0, 1], [2, 3]], ((0, 1), (2, 3))),
        ("valid", ((0, 0), (0, 0))),
        ("same", ((1, 1), (1, 1))),
    ],
)
def test_padding_has_several_forms(written: object, canonical: object) -> None:
    assert canonical_padding("op", written, (5, 5), (3, 3), (2, 2), (1, 1)) == canonical


@pytest.mark.parametrize(
    "written",
    [-1, 1.5, None, True, "full", (1,), (1, 2, 3), (1, (2, 3)), ((1, 2),), ((1, 2), (3,)), (-1, 0)],
)
def test_invalid_padding_is_refused(written: object) -> None:
    with pytest.raises(UserError, match="padding"):
        canonical_padding("op", written, (5, 5), (3, 3), (2, 2), (1, 1))
