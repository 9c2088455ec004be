# SPDX-License-Identifier: Apache-2.0
"""Random schedules of random operators never change a result; only UserErrors are raised.

24 of every family in each run, 192 in all; 5,120 in a long one.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import xtc
from tests.unit.compiled_batch import results
from tests.unit.random_nests import random_calls, random_data
from tests.unit.random_operators import FAMILIES, random_graph, random_inputs
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.evaluate import compare, rounding_noise
from xtc.graph.graph import Graph

BATCH = 8
PARTS, COUNT = (8, 10) if settings().max_examples > 100 else (1, 1)
"""Of each family, which processes share, and batches of a part."""
# A smaller seed is not a simpler case; the message contains the failing one.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


def schedule_by_data(rng: Random, graph: Graph, target: str | None = None) -> xtc.Schedule:
    data = random_data(rng, xtc.Schedule(graph)["C"].space)
    return xtc.Schedule.of(graph, {"C": data}, target)


def schedule_by_calls(rng: Random, graph: Graph, target: str | None = None) -> xtc.Schedule:
    schedule = xtc.Schedule(graph, target)
    random_calls(rng, schedule["C"], rng.randint(1, 10))
    return schedule


def legal_schedule(rng: Random, family: str, target: str | None = None) -> xtc.Schedule:
    """A schedule of a random graph. Raises AssertionError if hardly any is legal."""
    for _ in range(20):
        graph = random_graph(rng, family)
        try:
            return rng.choice((schedule_by_data, schedule_by_calls))(rng, graph, target)
        except UserError:
            continue
    raise AssertionError(f"no legal schedule of {family} in 20")


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=COUNT, phases=PHASES)
@given(seed=st.integers(0, (1 << 32) - 1))
def test_a_schedule_changes_no_result(family: str, part: int, seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    level = rng.choice((0, 0, 0, 3))
    schedules = [legal_schedule(rng, family) for _ in range(BATCH)]
    batch = [prepare(schedule.graph, schedule=schedule, opt_level=level) for schedule in schedules]
    inputs = [random_inputs(rng, schedule.graph) for schedule in schedules]
    for schedule, arrays, (actual,) in zip(schedules, inputs, results(batch, inputs), strict=True):
        expected = schedule.graph.evaluate(*arrays, precise=True)
        rounded = schedule.graph.evaluate(*arrays, precise=False)
        name = f"C of {schedule.graph}\nscheduled {schedule.texts()['C']}"
        reduction = max(1, schedule.graph.reduction_size)
        noise = rounding_noise(rounded, expected)
        compare(actual, expected, name=name, reduction=reduction, noise=noise).raise_if_wrong()
