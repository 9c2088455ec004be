# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions against their definition: the contributions of each element."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc.ops as O
from xtc.importers.compositions.transposed_convolution import Spread, spread

Array = np.ndarray[Any, Any]


def defined(x: Array, filters: Array, spreads: Sequence[Spread], groups: int) -> Array:
    """(n, ..., c) spread tap by tap, including the elements that are cropped."""
    channels, each, *taps = filters.shape
    outputs = [step.output for step in spreads]
    result = np.zeros((x.shape[0], *outputs, groups * each), x.dtype)
    for position in itertools.product(*(range(step.size) for step in spreads)):
        for tap in itertools.product(*map(range, taps)):
            to = [
                i * step.stride + t * step.dilation - step.skipped
                for i, t, step in zip(position, tap, spreads, strict=True)
            ]
            if not all(0 <= at < size for at, size in zip(to, outputs, strict=True)):
                continue
            source: Any = (slice(None), *position)
            weight: Any = (slice(None), slice(None), *tap)
            target: Any = (slice(None), *to)
            seen = x[source].reshape(-1, groups, channels // groups)
            weights = filters[weight].reshape(groups, channels // groups, each)
            added = np.einsum("ngc,gce->nge", seen, weights)
            result[target] += added.reshape(-1, groups * each)
    return result


@st.composite
def dimensions(draw: st.DrawFn) -> Spread:
    size, taps, stride = (draw(st.integers(1, most)) for most in (4, 5, 4))
    dilation = draw(st.sampled_from([1, 1, 1, 2]))
    whole = (size - 1) * stride + (taps - 1) * dilation + 1
    skipped = draw(st.integers(0, whole - 1))
    output = draw(st.integers(1, whole - skipped + stride - 1))
    return Spread(size, taps, stride, dilation, skipped, output)


@pytest.mark.slow
@given(
    st.lists(dimensions(), min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(1, 3),
)
def test_a_transposed_convolution_sums_the_contributions_of_its_elements(
    spreads: list[Spread], groups: int, channels: int, each: int
) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, (2, *(step.size for step in spreads), groups * channels))
    filters = rng.integers(-4, 5, (groups * channels, each, *(step.taps for step in spreads)))
    x, filters = x.astype(np.float32), filters.astype(np.float32)
    with O.graph(name="spread") as gb:
        O.outputs(spread(O.tensor(x.shape, name="x"), filters, spreads, groups))
    result = gb.graph.evaluate(x)
    np.testing.assert_array_equal(result, defined(x, filters, spreads, groups))


def test_inserted_zeros_are_not_multiplied() -> None:
    spreads = [Spread(8, 16, 8, 1, 4, 64)]
    with O.graph(name="spread") as gb:
        spread(O.tensor((1, 8, 4), name="x"), np.ones((4, 2, 16), np.float32), spreads, 1)
    # Two taps of 4 channels for each of 9 positions, 8 phases and 2 filters.
    assert gb.graph.flops == 2 * 9 * 8 * 2 * 2 * 4
