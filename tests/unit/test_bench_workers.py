# SPDX-License-Identifier: Apache-2.0
"""The worker processes of `make bench-host`: requests, and crashes, hangs and invalid answers."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.candidate import Candidate, Unavailable
from benchmarks.peers.environments import interpreter, reason
from benchmarks.peers.graphs import sample_inputs
from benchmarks.peers.quiet import others_running, wait_for_quiet
from benchmarks.peers.team import interpreters
from benchmarks.peers.worker import WorkerFailed, WorkerLost, environment_of
from tests.unit.bench_support import fake_worker, library
from xtc.core.errors import ToolError
from xtc.system import tool


def test_requests_are_answered() -> None:
    with fake_worker() as worker:
        assert worker.ask({"do": "echo", "text": "é"}, 20)["echo"]["text"] == "é"
        with pytest.raises(WorkerFailed, match="never") as refused:
            worker.ask({"do": "no"}, 20)
        assert refused.value.unsupported
        with pytest.raises(WorkerFailed, match="ValueError: bad") as failed:
            worker.ask({"do": "fail"}, 20)
        assert not failed.value.unsupported
        assert worker.ask({"do": "drop"}, 20) == {}


@pytest.mark.parametrize(
    ("do", "seconds", "says"),
    [
        ("die", 20, "was ended by SIGABRT: something broke"),
        ("leave", 20, "ended with exit code 3"),
        ("garbage", 20, "answered b'not json'"),
        ("hang", 0.3, "did not answer within 0 s"),
    ],
)
def test_a_lost_worker_gives_the_reason(do: str, seconds: float, says: str) -> None:
    worker = fake_worker()
    start = time.monotonic()
    with pytest.raises(WorkerLost) as lost:
        worker.ask({"do": do}, seconds)
    assert str(lost.value) == says
    assert time.monotonic() - start < 30
    with pytest.raises(WorkerLost):
        worker.ask({"do": "echo"}, 1)
    worker.close()


@pytest.mark.slow
def test_a_candidate_is_restarted_a_limited_number_of_times() -> None:
    starts: list[None] = []

    def start() -> object:
        starts.append(None)
        return fake_worker()

    candidate = Candidate(library("fake"), 1, start)
    for _ in range(2):
        with pytest.raises(Unavailable, match="SIGABRT"):
            candidate.ask({"do": "die"}, 20)
    assert candidate.ask({"do": "echo"}, 20)["echo"]
    assert candidate.versions == {"fake": "1"}
    with pytest.raises(Unavailable, match="SIGABRT"):
        candidate.ask({"do": "die"}, 20)
    with pytest.raises(Unavailable, match="lost 3 times"):
        candidate.ask({"do": "echo"}, 20)
    assert len(starts) == 3
    candidate.drop()
    candidate.close()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise SystemExit(1)", "cannot be started: ended with exit code 1"),
        ('input(); print(\'{"error": "ImportError: x"}\')', "cannot be imported: ImportError: x"),
    ],
)
def test_a_library_that_does_not_start_is_reported_once(code: str, says: str) -> None:
    starts: list[None] = []

    def start() -> object:
        starts.append(None)
        return fake_worker(code)

    candidate = Candidate(library("fake"), 1, start)
    for _ in range(2):
        with pytest.raises(Unavailable, match=says):
            candidate.ask({"do": "echo"}, 20)
    assert len(starts) == 1


def test_misleading_variables_are_removed_from_the_environment() -> None:
    inherited = {"OPENBLAS_CORETYPE": "Haswell", "PYTHONPATH": "/x", "HOME": "/h"}
    made = environment_of(inherited, 2, {"FLAGS": "--threads={threads}"}, None)
    assert "OPENBLAS_CORETYPE" not in made
    assert "PYTHONPATH" not in made
    assert made["HOME"] == "/h"
    assert made["OMP_NUM_THREADS"] == made["OPENBLAS_NUM_THREADS"] == "2"
    assert made["FLAGS"] == "--threads=2"
    assert environment_of(inherited, 1, {}, "/ours")["PYTHONPATH"] == "/ours"


def test_an_environment_is_created_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def run(argv: list[object], **_: object) -> None:
        ran.append([str(word) for word in argv])
        if "venv" in ran[-1]:
            Path(ran[-1][-1]).mkdir()

    monkeypatch.setattr(tool, "run", run)
    first = interpreter("numpy", ["numpy==2.0"], tmp_path)
    assert interpreter("numpy", ["numpy==2.0"], tmp_path) == first
    assert [words[1:3] for words in ran] == [["-m", "venv"], ["-m", "pip"]]
    assert ran[1][-1] == "numpy==2.0"
    (first.parents[1] / "ready").unlink()
    assert interpreter("numpy", ["numpy==2.0"], tmp_path) == first
    assert len(ran) == 4  # an unfinished environment is recreated
    assert interpreter("numpy", ["numpy==2.1"], tmp_path) != first
    assert interpreter("ours", [], tmp_path) == Path(sys.executable)


def test_a_failed_installation_is_reported_and_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def run(argv: list[object], **_: object) -> None:
        tries.append(argv)
        raise ToolError("x", notes=["pip said:\nERROR: No matching distribution for y\nbye"])

    monkeypatch.setattr(tool, "run", run)
    y = replace(library("y"), requirements=("y==1",))
    said: list[str] = []
    for count in (1, 2):
        found = interpreters([library("ours"), y], tmp_path, said.append)
        assert found[y] == "cannot be installed: ERROR: No matching distribution for y"
        assert found[library("ours")] == Path(sys.executable)
        assert len(tries) == count
    assert said == ["Y: y==1"] * 2


def test_a_reason_is_found_without_an_error_line() -> None:
    assert reason(ToolError("making x failed")) == "making x failed"


def test_waiting_for_a_quiet_machine(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu 1 2\nprocs_running 3\nprocs_blocked 0\n")
    assert others_running(stat) == 2
    assert wait_for_quiet(0.01, stat) is False
    stat.write_text("procs_running 1\n")
    assert wait_for_quiet(0.01, stat) is True
    assert others_running(tmp_path / "absent") is None
    assert wait_for_quiet(10, tmp_path / "absent") is None


def test_every_library_gets_the_same_arrays() -> None:
    workload = {"inputs": [(4, 4)], "dtype": "bfloat16"}
    once, again = sample_inputs(workload, 1)[0], sample_inputs(workload, 1)[0]
    assert np.array_equal(once, again)
    assert not (once.view(np.uint32) & 0xFFFF).any()  # bfloat16's values
    assert not np.array_equal(once, sample_inputs(workload, 2)[0])
