# SPDX-License-Identifier: Apache-2.0
"""The search loop, with candidates of given times."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.search_support import a_run
from tests.unit.test_search_strategy import BLOCKED, space_of
from xtc.search import Store
from xtc.search.candidate import Candidate, Outcome
from xtc.search.evaluator import Evaluator
from xtc.search.records import STATUSES
from xtc.search.samplers import sampler
from xtc.search.tuner import FINALISTS, Tuner


class MadeUp(Evaluator):
    """Candidates complete in order, or with `backwards`, the last one first."""

    capacity = 3

    def __init__(self, *, backwards: bool = False) -> None:
        self.waiting: deque[Candidate] = deque()
        self.given: list[str] = []
        self.bests: list[float | None] = []
        self._backwards = backwards

    def submit(self, candidate: Candidate) -> None:
        self.given.append(candidate.schedule)
        self.bests.append(self.best)
        self.waiting.append(candidate)

    def next(self, seconds: float) -> Outcome | None:
        if not self.waiting:
            return None
        candidate = self.waiting.pop() if self._backwards else self.waiting.popleft()
        return outcome_of(candidate)

    def close(self) -> None:
        self.waiting.clear()


def outcome_of(candidate: Candidate) -> Outcome:
    if not candidate.schedule:
        return Outcome(candidate, "ok", samples=(9.0,))
    if candidate.parameters["iR"] % 5 == 0:
        return Outcome(candidate, "wrong", "it is wrong", samples=(1e-9,))
    time = (
        1
        + abs(math.log2(candidate.parameters["iR"]) - 3)
        + abs(candidate.parameters["jR"] - 32) / 16
    )
    return Outcome(candidate, "ok", samples=(time * 1.5, time))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "tuning.db") as store:
        yield store


def tuner(
    store: Store, number: int, evaluator: Evaluator, trials: int | None, **more: object
) -> Tuner:
    run = store.run(number)
    searcher = sampler(str(more.pop("kind", "random")), space_of(BLOCKED), run.seed)
    return Tuner(store, run, searcher, evaluator, seconds=None, trials=trials, **more)


@pytest.mark.slow
@pytest.mark.parametrize("backwards", [False, True])
def test_the_best_correct_candidate_is_chosen(store: Store, backwards: bool) -> None:
    run = store.add_run(a_run()).number
    evaluator = MadeUp(backwards=backwards)
    progress = tuner(store, run, evaluator, None).search()
    assert progress.best is not None
    assert progress.best.parameters["iR"] == 8
    assert progress.best.seconds == 1.0
    results = store.results(run)
    searched = [result for result in results if result.kind == "search"]
    assert len({entry.schedule for entry in searched}) == len(searched)
    space = space_of(BLOCKED)
    assert {entry.schedule for entry in searched} == {"", *map(space.schedule, space.points())}
    assert progress.default is not None
    assert progress.failures == sum(result.status == "wrong" for result in results) > 0
    assert store.run(run).finished
    assert [result.kind for result in results[-FINALISTS:]] == ["replay"] * FINALISTS
    assert evaluator.bests[-1] == 1.0
    assert not evaluator.waiting


def test_the_number_of_trials_is_limited(store: Store) -> None:
    run = store.add_run(a_run()).number
    tuner(store, run, MadeUp(), 10).search()
    kinds = [result.kind for result in store.results(run) if result.parameters]
    assert kinds.count("search") == 10


def test_the_budget_ends_the_search(store: Store) -> None:
    run = store.add_run(a_run()).number
    searcher = sampler("random", space_of(BLOCKED), 0)
    progress = Tuner(store, store.run(run), searcher, MadeUp(), seconds=0.0, trials=None).search()
    assert sum(progress.statuses.values()) <= 1
    assert store.run(run).finished


class KilledError(Exception):
    """Ends a search in the middle of these tests."""


@pytest.mark.parametrize("kind", ["random", "exhaustive", "evolutionary"])
def test_a_search_resumes_where_it_stopped(store: Store, kind: str) -> None:
    run = store.add_run(replace(a_run(), sampler=kind)).number

    def stop(progress: object) -> None:
        if len(store.results(run)) == 20:
            raise KilledError

    with pytest.raises(KilledError):
        tuner(store, run, MadeUp(), None, report=stop, kind=kind).search()
    assert len(store.results(run)) == 20
    assert not store.run(run).finished
    evaluator = MadeUp()
    second = tuner(store, run, evaluator, 60, kind=kind)
    assert sum(second.progress.statuses.values()) == 20
    second.search()
    searched = [result.schedule for result in store.results(run) if result.kind == "search"]
    assert len(set(searched)) == len(searched) == 61  # and the default schedule
    assert "" not in evaluator.given[:-FINALISTS]


def test_times_resume_where_they_stopped(store: Store) -> None:
    run = store.add_run(replace(a_run(), seconds=50.0)).number
    tuner(store, run, MadeUp(), 3).search()
    assert all(result.at >= 50.0 for result in store.results(run))
    assert store.run(run).seconds >= 50.0


def test_a_replay_measures_again(store: Store) -> None:
    run = store.add_run(a_run()).number
    tuner(store, run, MadeUp(), 20).search()
    before, best = len(store.results(run)), store.best(run, 3)
    tuner(store, run, MadeUp(), 20).replay(best)
    again = store.results(run)[before:]
    assert [entry.schedule for entry in again] == [entry.schedule for entry in best]
    assert {entry.kind for entry in again} == {"replay"}


def test_the_database_accepts_all_statuses(store: Store) -> None:
    run = store.add_run(a_run()).number
    tuner(store, run, MadeUp(), None).search()
    assert {result.status for result in store.results(run)} <= set(STATUSES)
