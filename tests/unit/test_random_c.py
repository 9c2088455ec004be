# SPDX-License-Identifier: Apache-2.0
"""Random graphs and random schedules through C agree with NumPy, without warnings.

20 graphs and 20 schedules in every run, 300 of each in a long one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
from tests.unit.c_support import STRICT
from tests.unit.random_graphs import graphs, inputs_of
from tests.unit.random_operators import FAMILIES, random_graph, random_inputs
from tests.unit.test_random_schedules import schedule_by_calls, schedule_by_data
from xtc.core.errors import UserError

COUNT = 12 if settings().max_examples < 1000 else 300
QUICK: dict[str, Any] = {"codegen": "c", "opt_level": 1, "in_memory": True}


@pytest.fixture(scope="module", autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XTC_CC", f"cc {STRICT}")
        yield


@pytest.mark.slow
@settings(max_examples=COUNT)
@given(graphs(), st.integers(0, 1000))
def test_graphs_agree_with_numpy(graph: xtc.Graph, seed: int) -> None:
    with xtc.compile(graph, **QUICK) as module:
        module.check(*inputs_of(graph, seed))


@pytest.mark.slow
def test_a_schedule_changes_no_result() -> None:
    outcomes: Counter[str] = Counter()

    @settings(max_examples=COUNT)
    @given(st.sampled_from(sorted(FAMILIES)), st.sampled_from((1, 3)), st.integers(0, 1 << 32))
    def property_holds(family: str, threads: int, seed: int) -> None:
        rng = Random(seed)  # noqa: S311  data of a test
        graph = random_graph(rng, family)
        try:
            schedule = rng.choice((schedule_by_data, schedule_by_calls))(rng, graph)
        except UserError:
            outcomes["refused"] += 1
            return
        with xtc.compile(graph, schedule=schedule, threads=threads, **QUICK) as module:
            module.check(*random_inputs(rng, graph))
        outcomes["compiled"] += 1

    property_holds()
    assert outcomes["compiled"] > 0.5 * outcomes.total(), f"too few are legal: {outcomes}"
