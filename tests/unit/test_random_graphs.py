# SPDX-License-Identifier: Apache-2.0
"""Random graphs compiled for the host compute what NumPy computes in float64."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
from tests.unit.random_graphs import graphs, inputs_of

# 50 graphs in every run; 5,000 in a long one, in parts that processes share.
PARTS, COUNT = (20, 250) if settings().max_examples > 100 else (1, 30)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=COUNT, deadline=None)
@given(graph=graphs(), seed=st.integers(0, 1000))
def test_compiled_graphs_agree_with_numpy(part: int, graph: xtc.Graph, seed: int) -> None:
    with xtc.compile(graph, in_memory=True) as module:
        module.check(*inputs_of(graph, seed))
