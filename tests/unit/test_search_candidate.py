# SPDX-License-Identifier: Apache-2.0
"""Candidates that are wrong, crash or never end get a status, and the search continues."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.unit.search_support import a_run, seeded
from tests.unit.search_worker import KINDS, graph
from xtc.core.errors import UserError
from xtc.search import Result, Store
from xtc.search.candidate import Candidate, CandidateRunner, Outcome
from xtc.search.evaluator import LocalEvaluator
from xtc.search.problem import Problem
from xtc.system.sandbox import Limits

pytestmark = pytest.mark.slow
SHORT = Limits(3.0, 1 << 30)


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    folder = tmp_path / "problem"
    folder.mkdir()
    return Problem.of(graph(), folder, "host", {}, 0)


@pytest.fixture
def runner(problem: Problem) -> Iterator[CandidateRunner]:
    runner = CandidateRunner(problem, SHORT, SHORT, "tests.unit.search_worker")
    yield runner
    runner.close()


def outcome(runner: CandidateRunner, kind: str, best: float | None = None) -> Outcome:
    compiled = runner.compile(Candidate(kind, {}))
    return compiled if isinstance(compiled, Outcome) else runner.measure(compiled, best)


def test_every_kind_of_candidate_gets_its_status(runner: CandidateRunner) -> None:
    found = {kind: outcome(runner, kind) for kind in KINDS}
    assert {kind: entry.status for kind, entry in found.items()} == {
        kind: status for kind, (_, status) in KINDS.items()
    }
    assert "'C' is wrong: " in found["tripled"].message
    assert "running crashed" in found["crash"].message
    assert "running took longer than 3 s" in found["hang"].message
    assert "compiling ran out of memory" in found["compiler fills memory"].message


def test_a_slow_candidate_gets_few_samples(runner: CandidateRunner) -> None:
    assert len(outcome(runner, "right").samples) > 3
    assert len(outcome(runner, "right", best=1e-12).samples) <= 2
    compiled = runner.compile(Candidate("right", {}, repeat=7))
    assert not isinstance(compiled, Outcome)
    assert len(runner.measure(compiled, 1e-12).samples) == 7


def mixture(count: int, seed: int) -> list[str]:
    """Kinds of candidates, half of them correct, in random order."""
    rng = seeded(seed)
    bad = [kind for kind in KINDS if kind != "right"]
    return [rng.choice(bad) if i % 2 else "right" for i in range(count)]


def test_a_search_survives_them_all(runner: CandidateRunner, tmp_path: Path, is_long: bool) -> None:
    kinds = mixture(500 if is_long else 16, 1)
    waiting = {f"{kind} #{number}": kind for number, kind in enumerate(kinds)}
    todo = list(waiting)
    with Store(tmp_path / "t.db") as store, LocalEvaluator(runner, 2) as evaluator:
        run, pending = store.add_run(a_run()).number, 0
        while todo or pending:
            while todo and pending < evaluator.capacity:
                evaluator.submit(Candidate(todo.pop(0), {}))
                pending += 1
            found = evaluator.next(60)
            assert found is not None
            pending -= 1
            assert found.status == KINDS[waiting.pop(found.candidate.schedule)][1]
            store.add_result(run, _result(found))
        assert not waiting
        assert all(entry.schedule.startswith("right") for entry in store.best(run, 1000))
        assert len(store.best(run, 1000)) == kinds.count("right")


def _result(found: Outcome) -> Result:
    return Result(found.candidate.schedule, {}, found.status, found.message, found.samples)


def test_closing_leaves_no_process(problem: Problem) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    runner = CandidateRunner(problem, Limits(60), Limits(60), "tests.unit.search_worker")
    with LocalEvaluator(runner, 2) as evaluator:
        for kind in ("compiler hangs", "right", "hang"):
            evaluator.submit(Candidate(kind, {}))
        assert evaluator.next(60) is not None
        started = time.monotonic()
    assert time.monotonic() - started < 30
    left = {child.pid for child in psutil.Process().children(recursive=True)} - before
    assert not left


def test_programs_with_devices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="only programs without devices are tuned"):
        Problem.of(graph(), tmp_path, "mppa", {}, 0)


def test_a_problem_is_packed_and_unpacked(problem: Problem, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    packed = problem.packed()
    again = Problem.unpacked(packed, there)
    assert again.packed() == packed
    assert str(again.compilation().graph) == str(problem.compilation().graph)
    with pytest.raises(UserError, match="is not a file name"):
        Problem.unpacked({**packed, "files": {"../out": ""}}, there)
