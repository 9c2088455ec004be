# SPDX-License-Identifier: Apache-2.0
"""Random graphs on boards: int8 networks equal NumPy bit for bit, others within tolerance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import xtc
from tests.unit.embedded_random import float_networks, networks
from tests.unit.embedded_support import ALL_BOARDS
from xtc.graph.graph import Graph
from xtc_targets.embedded import EmbeddedBoard

pytest.importorskip("unicorn", reason="the simulator of boards needs the package unicorn")

IS_LONG = settings().max_examples > 1000
COUNT = 150 if IS_LONG else 6
EACH = 1 if IS_LONG else 3  # each graph runs on one of this number of boards
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.fixture(scope="module")
def boards() -> Iterator[list[EmbeddedBoard]]:
    """One of each kind of core."""
    with ExitStack() as stack:
        yield [stack.enter_context(EmbeddedBoard(name)) for name in ALL_BOARDS]


@pytest.mark.slow
@settings(max_examples=COUNT, deadline=None, suppress_health_check=CHECKS)
@given(graph=networks(), seed=st.integers(0, 1000))
def test_int8_networks_are_exact(boards: list[EmbeddedBoard], graph: Graph, seed: int) -> None:
    for board in boards[seed % EACH :: EACH]:
        with xtc.compile(graph, board) as module:
            module.check(seed=seed)


@pytest.mark.slow
@settings(max_examples=max(2, COUNT // 3), deadline=None, suppress_health_check=CHECKS)
@given(graph=float_networks(), seed=st.integers(0, 1000))
def test_float_networks_agree_within_tolerance(
    boards: list[EmbeddedBoard], graph: Graph, seed: int
) -> None:
    for board in boards[seed % EACH :: EACH]:
        with xtc.compile(graph, board) as module:
            module.check(seed=seed)
