# SPDX-License-Identifier: Apache-2.0
"""Random graphs compiled for the host compute what NumPy computes in float64."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
from tests.unit.random_graphs import graphs, inputs_of

# 300 graphs in every run, 5,000 in a long one.
COUNT = max(300, settings().max_examples * 5 // 2)


@pytest.mark.slow
@settings(max_examples=COUNT, deadline=None)
@given(graphs(), st.integers(0, 1000))
def test_compiled_graphs_agree_with_numpy(graph: xtc.Graph, seed: int) -> None:
    with xtc.compile(graph, in_memory=True) as module:
        module.check(*inputs_of(graph, seed))
