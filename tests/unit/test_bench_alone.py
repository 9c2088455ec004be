# SPDX-License-Identifier: Apache-2.0
"""Operators extracted from a network."""

from __future__ import annotations

import numpy as np
import pytest

import xtc.ops as O
from benchmarks.alone import classes_of, graph_of, seconds_alone, seconds_by_node
from xtc.evaluate.profile import OperatorTime
from xtc.graph.graph import Graph

_W = np.eye(4, dtype=np.float32)


def _graph() -> Graph:
    x, w = O.tensor((4, 4), name="x"), O.tensor((4, 4), name="w", const=_W)
    with O.graph(name="g") as gb:
        a = O.exp(x, name="a")
        O.add(O.matmul(a, w, name="b"), a, name="c")
    return gb.graph


def test_results_of_other_operators_become_inputs() -> None:
    part = graph_of(_graph(), ["b", "c"])
    assert [node.name for node in part.nodes] == ["b", "c"]
    assert [tensor.name for tensor in part.inputs] == ["a"]
    given = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert np.array_equal(np.asarray(part.evaluate(given)), 2 * given)


def test_operators_are_classed_by_function_slowest_first() -> None:
    a, b, c = (
        OperatorTime(name, ("relu",), (kernel,), seconds, 1, 1)
        for name, kernel, seconds in [("a", "f", 1.0), ("b", "g", 3.0), ("c", "f", 2.5)]
    )
    assert classes_of([a, b, c]) == [[a, c], [b]]


@pytest.mark.slow
def test_an_operator_is_timed_in_a_network_and_alone() -> None:
    assert all(seconds > 0 for seconds in seconds_by_node(_graph(), 2).values())
    hot, cold = seconds_alone(graph_of(_graph(), ["b", "c"]), 2, np.ones(16, np.float32))
    assert hot > 0 < cold
