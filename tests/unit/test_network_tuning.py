# SPDX-License-Identifier: Apache-2.0
"""Networks tuned operator by operator: kinds, combination of results, and stored runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.graph.graph import Graph
from xtc.search import Store
from xtc.search.network import Found, Kind, alone, is_network, kinds, measured, tune_network
from xtc.search.session import Session, Settings

NEST = "{i: , j: , k: , 'j#4': vectorize}"


def network(layers: int = 4) -> Graph:
    """Layers of one kind, then one of another."""
    rng = np.random.default_rng(0)
    y = O.tensor((6, 8), name="x")
    with O.graph(name="network") as gb:
        for number in range(layers):
            w = O.tensor((8, 8), const=rng.standard_normal((8, 8)).astype(np.float32) / 3)
            y = O.relu(O.matmul(y, w, name=f"layer{number}"))
        O.matmul(y, O.tensor((8, 4), name="last"), name="head")
    return gb.graph


def session(graph: Graph, store: Store) -> Session:
    return Session(graph, store, Settings(budget=None, trials=2), options={"threads": 1})


def test_operators_of_one_kind_are_tuned_once() -> None:
    found = kinds(network())
    assert [[node.name for node in kind.nodes] for kind in found] == [
        ["layer0", "layer1", "layer2", "layer3"],
        ["head"],
    ]
    assert [kind.flops for kind in found] == [4 * 2 * 6 * 8 * 8, 2 * 6 * 8 * 4]
    single = alone(found[0].nodes[0])
    assert [str(x.type) for x in single.inputs] == ["6x8xfloat32"]
    assert [node.name for node in single.nodes] == ["layer0"]
    assert is_network(network())
    assert not is_network(network(2))


@pytest.mark.slow
def test_results_are_measured_in_the_network_and_stored(tmp_path: Path) -> None:
    graph = network()
    layers, head = kinds(graph)
    right = Found(layers, NEST, 2.0, 1.0)
    illegal = Found(head, "{i: , j: , k: , 'j#3': vectorize, 'q#2': unroll}", 1.5, 1.0)
    nothing = Found(head, NEST, 1.0, 0.99)
    assert (right.saved, nothing.saved) == (4.0, 0.0)
    with Store(tmp_path / "tuning.db") as store:
        run, _ = measured(session(graph, store), [nothing, illegal, right], 0.0)
        results = store.results(run.number)
    assert [result.status for result in results[:2]] == ["ok", "failed"]
    together = [result for result in results if result.schedule and result.status == "ok"]
    assert together
    lines = together[0].schedule.splitlines()
    assert lines == [f"layer{number}: {NEST}" for number in range(4)]


@pytest.mark.slow
def test_a_search_ends_in_a_schedule_that_the_compiler_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XTC_TUNING_DB", str(tmp_path / "tuning.db"))
    graph, told = network(), list[Kind]()
    with Store() as store:
        run, _ = tune_network(session(graph, store), done=lambda found: told.append(found.kind))
        statuses = {result.status for result in store.results(run.number)}
        assert len(store.runs()) == 3
    assert [kind.name for kind in told] == ["layer0", "head"]
    assert run.strategy == "operators"
    assert run.finished
    assert statuses == {"ok"}
    with xtc.compile(graph, schedule="tuned", threads=1) as module:
        module.check()
