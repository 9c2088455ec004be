# SPDX-License-Identifier: Apache-2.0
"""Random schedules of random operators: the result never changes, and nothing but UserError.

50 of every family in each run, 5,000 in all in a long one.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
from tests.unit.random_nests import random_calls, random_data
from tests.unit.random_operators import FAMILIES, random_graph, random_inputs
from xtc.core.errors import UserError
from xtc.evaluate import compare
from xtc.graph.graph import Graph

COUNT = max(50, settings().max_examples * 5 // 16)


def schedule_by_data(rng: Random, graph: Graph) -> xtc.Schedule:
    data = random_data(rng, xtc.Schedule(graph)["C"].space)
    return xtc.Schedule.of(graph, {"C": data})


def schedule_by_calls(rng: Random, graph: Graph) -> xtc.Schedule:
    schedule = xtc.Schedule(graph)
    random_calls(rng, schedule["C"], rng.randint(1, 10))
    return schedule


def check_results(graph: Graph, schedule: xtc.Schedule, rng: Random) -> None:
    inputs = random_inputs(rng, graph)
    with xtc.compile(graph, schedule=schedule, in_memory=True) as module:
        computed = module(*inputs)
    expected = graph.evaluate(*inputs, precise=True)
    reduction = max(1, graph.reduction_size)
    compare(computed, expected, name="C", reduction=reduction).raise_if_wrong()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_schedule_changes_how_but_not_what(family: str) -> None:
    outcomes: Counter[str] = Counter()

    @settings(max_examples=COUNT)
    @given(st.integers(0, (1 << 32) - 1))
    def property_holds(seed: int) -> None:
        rng = Random(seed)  # noqa: S311  data of a test
        graph = random_graph(rng, family)
        try:
            schedule = rng.choice((schedule_by_data, schedule_by_calls))(rng, graph)
        except UserError:
            outcomes["refused"] += 1
            return
        check_results(graph, schedule, rng)
        outcomes["compiled"] += 1

    property_holds()
    assert outcomes["compiled"] > 0.7 * outcomes.total(), f"too few are legal: {outcomes}"
