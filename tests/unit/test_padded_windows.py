# SPDX-License-Identifier: Apache-2.0
"""Convolutions whose outer taps only meet padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc.ops as O
from xtc.graph.graph import Graph
from xtc.importers.compositions.convolution import convolved
from xtc.importers.compositions.windows import Window, window_of


def _graph(sizes: tuple[int, ...], slides: list[Window]) -> tuple[Graph, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    shape = (*(slide.taps for slide in slides), 2, 3)
    filters = rng.integers(-4, 5, shape).astype(np.float32)
    with O.graph(name="convolved") as gb:
        kernel = O.tensor(shape, name="filters", const=filters)
        O.outputs(convolved(O.tensor((1, *sizes, 2), name="x"), kernel, slides, 1))
    return gb.graph, filters


@st.composite
def windows(draw: st.DrawFn) -> Window:
    size, taps, stride, dilation = (draw(st.integers(1, most)) for most in (4, 4, 3, 3))
    extent = (taps - 1) * dilation + 1
    pads = draw(st.integers(0, extent)), draw(st.integers(extent, extent + 2))
    return window_of(size, taps, stride, dilation, pads, "NOTSET", False)


@pytest.mark.slow
@given(st.lists(windows(), min_size=1, max_size=3))
def test_results_equal_those_with_all_taps(slides: list[Window]) -> None:
    sizes = tuple(slide.size for slide in slides)
    graph, filters = _graph(sizes, slides)
    x = np.random.default_rng(1).integers(-4, 5, (1, *sizes, 2)).astype(np.float32)
    border = [(slide.before, slide.border[1]) for slide in slides]
    framed = np.pad(x, [(0, 0), *((a, max(b, 0)) for a, b in border), (0, 0)])
    expected = np.zeros((1, *(slide.output for slide in slides), 3), np.float32)
    for position in np.ndindex(*expected.shape[1:-1]):
        for tap in np.ndindex(*filters.shape[:-2]):
            at = [
                p * slide.stride + t * slide.dilation
                for p, t, slide in zip(position, tap, slides, strict=True)
            ]
            here: Any = (0, *position)
            there: Any = (0, *at)
            expected[here] += framed[there] @ filters[tap]
    np.testing.assert_array_equal(graph.evaluate(x), expected)


def test_a_window_that_sees_only_padding() -> None:
    graph, _ = _graph((1,), [window_of(1, 1, 3, 1, (1, 1), "NOTSET", False)])
    np.testing.assert_array_equal(
        graph.evaluate(np.ones((1, 1, 2), np.float32)), np.zeros((1, 1, 3))
    )


def test_three_by_three_taps_on_one_element_are_one() -> None:
    slides = [window_of(1, 3, 1, 1, (1, 1), "NOTSET", False)] * 2
    graph, _ = _graph((1, 1), slides)
    assert graph.flops == 2 * 2 * 3
