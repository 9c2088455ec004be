# SPDX-License-Identifier: Apache-2.0
"""Sums along rows are computed in order, also if several rows are computed side by side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 5)
@given(st.integers(1, 40), st.integers(1, 70), st.sampled_from(("float32", "float64")))
def test_elements_are_added_in_order(rows: int, terms: int, dtype: str) -> None:
    with O.graph(name="sums") as gb:
        O.reduce_sum(O.tensor((rows, terms), dtype, name="x"), axes=[1])
    x = np.random.default_rng(rows * 100 + terms).normal(size=(rows, terms)).astype(dtype)
    with xtc.compile(gb.graph, in_memory=True) as module:
        assert np.array_equal(module(x), np.add.accumulate(x, axis=1)[:, -1])
