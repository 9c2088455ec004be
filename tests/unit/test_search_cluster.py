# SPDX-License-Identifier: Apache-2.0
"""Measurements on a Dask cluster of local processes: equal to local ones, and lost workers are
replaced."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.search_support import a_run
from tests.unit.test_search_strategy import BLOCKED, matmul_graph, space_of
from xtc.core.errors import UserError
from xtc.driver.tuned import machine_name
from xtc.search import Store
from xtc.search.cluster import ClusterEvaluator, cluster
from xtc.search.problem import Problem
from xtc.search.samplers import sampler
from xtc.search.tuner import Progress, Tuner
from xtc.system.sandbox import Limits

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
LIMITS = Limits(60.0)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster("2") as client:
        yield client


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    folder = tmp_path / "problem"
    folder.mkdir()
    return Problem.of(matmul_graph().graph, folder, "host", {}, 0)


def tune(client: Any, problem: Problem, folder: Path, trials: int, report: Any) -> Store:
    """The database of a search on the cluster."""
    store = Store(folder / "t.db")
    run = store.add_run(a_run())
    searcher = sampler("random", space_of(BLOCKED), 0)
    with ClusterEvaluator(client, problem, LIMITS, LIMITS) as evaluator:
        assert evaluator.machine == machine_name()
        Tuner(store, run, searcher, evaluator, seconds=None, trials=trials, report=report).search()
    return store


def test_candidates_of_a_lost_worker_are_measured_elsewhere(
    client: Any, problem: Problem, tmp_path: Path
) -> None:
    pids = set(client.run(os.getpid).values())
    assert len(pids) == 2
    victims = [min(pids)]

    def kill_one(progress: Progress) -> None:
        if victims and sum(progress.statuses.values()) >= 2:
            os.kill(victims.pop(), signal.SIGKILL)

    with tune(client, problem, tmp_path, 10, kill_one) as store:
        results = store.results(1)
    assert not victims
    assert [result.status for result in results] == ["ok"] * len(results)
    searched = [result for result in results if result.kind == "search"]
    assert len({entry.schedule for entry in searched}) == len(searched) == 11
    assert all(result.worker.startswith("tcp://127.0.0.1:") for result in results)
    assert all(result.compile_seconds > 0 for result in results)


def test_the_address_must_be_that_of_a_scheduler(client: Any) -> None:
    address = client.scheduler.address.removeprefix("tcp://")
    with cluster(f"dask://{address}") as other:
        assert len(other.nthreads()) >= 1


def test_an_invalid_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xtc.search.cluster._CONNECT_SECONDS", 0.5)
    with (
        pytest.raises(UserError, match="no Dask scheduler at 127"),
        cluster("dask://127.0.0.1:1"),
    ):
        pass
    with pytest.raises(UserError, match="neither a number nor an address"), cluster("0"):
        pass
