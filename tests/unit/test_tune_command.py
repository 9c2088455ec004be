# SPDX-License-Identifier: Apache-2.0
"""xtc-tune end to end: a search, its results, kill and resume, and use of the best schedule."""

from __future__ import annotations

import csv
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import xtc
from tests.unit.search_support import a_run, ok, wrong
from xtc.cli import tune
from xtc.cli.common import read_graph
from xtc.cli.tune_report import csv_text, outcome_text
from xtc.core.errors import UserError
from xtc.search import Result, Store
from xtc.search.session import Session

PROGRAM = """\
import xtc.ops as O
a, b = O.tensor((64, 48), name="A"), O.tensor((48, 64), name="B")
with O.graph(name="product") as graph:
    O.matmul(a, b, name="C")
"""


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tuning.db"
    monkeypatch.setenv("XTC_TUNING_DB", str(path))
    return path


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "xtc.cli.tune", *map(str, arguments)]


def printed(*arguments: object) -> str:
    """The output of the command, which must succeed."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_few_trials_find_a_schedule_that_is_used(graph: Path, database: Path) -> None:
    out = printed(graph, "--trials", "8", "--seed", "1", "--csv", database.with_suffix(".csv"))
    assert "run 1: " in out
    assert 'xtc.compile(graph, schedule="tuned")' in out
    with Store(create=False) as store:
        run, (best,) = store.run(), store.best(1)
        results = store.results(1)
    assert run.finished
    assert run.versions["xtc"] == xtc.__version__
    assert run.bandwidth is not None
    assert run.bandwidth > 0
    assert run.machine.endswith(os.uname().machine)
    assert "" in {result.schedule for result in results}
    assert (best.schedule or "the default schedule is the best") in out
    with database.with_suffix(".csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["schedule"] for row in rows] == [result.schedule for result in results]
    with xtc.compile(read_graph(graph, {}), schedule="tuned") as module:
        module.check()
        found = module.schedule.texts()
    with xtc.compile(read_graph(graph, {}), schedule=best.schedule or None) as module:
        assert module.schedule.texts() == found
    assert "1: product on host" in printed("--list")
    assert "-> " in printed(graph, "--replay", "2", "--quiet")


def started(graph: Path, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(graph, "--quiet", *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def wait_for_results(count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the newest run has this number of results, while the process runs."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None
        try:
            with Store(create=False) as store:
                if len(store.results(store.run().number)) >= count:
                    return
        except UserError:  # not created yet
            pass
        time.sleep(0.02)
    raise AssertionError("no results in two minutes")


@pytest.mark.slow
def test_a_killed_search_is_resumed_without_losses(graph: Path, database: Path) -> None:
    process = started(graph, "--budget", "10m", "--sampler", "random", "--seed", "3")
    wait_for_results(4, process)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with sqlite3.connect(database) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with Store(create=False) as store:
        before = store.results(1)
        assert len(before) >= 4
        assert not store.run(1).finished
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive
    printed(graph, "--resume", "--trials", len(before) + 3, "--quiet")
    with Store(create=False) as store:
        after = store.results(1)
        assert [run.number for run in store.runs()] == [1]
        assert store.run(1).finished
    assert after[: len(before)] == before
    searched = [entry.schedule for entry in after if entry.kind == "search"]
    assert len(searched) == len(set(searched))
    assert len(searched) - len(before) in (3, 4)  # plus the default schedule, at any position


@pytest.mark.slow
def test_an_interrupted_search_ends_at_once(graph: Path, database: Path) -> None:
    process = started(graph, "--budget", "10m")
    wait_for_results(2, process)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive


def refused(arguments: Sequence[object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        tune.run([str(argument) for argument in arguments])


def test_invalid_arguments_are_refused(graph: Path, database: Path, tmp_path: Path) -> None:
    refused([graph, "--budget", "soon"], "'soon' is not a time")
    refused([graph, "--strategy", "pakced"], "did you mean 'packed'")
    refused([graph, "--strategy", tmp_path / "no.yaml"], "cannot read")
    refused([graph, "--operator", "D"], "'D' of graph 'product' has no loops")
    refused([graph, "--sampler", "randon", "--trials", 1], "did you mean 'random'")
    refused([graph, "--resume"], "has no run of 'product' on this machine")
    refused([graph, "--resume", "--seed", 4], "--seed is that of the run")
    refused([graph, "--replay", 3, "--run", 7], "has no run 7 of 'product'")
    refused([graph, "--target", "mppa", "--trials", 1], "only programs without devices")
    refused([graph, "--jobs", 0], "jobs is 0")
    refused([graph, "--workers", "many", "--trials", 1], "neither a number nor an address")
    refused([], "no graph is given")
    refused(["--list", "--db", tmp_path / "none.db"], "there is no tuning database")
    refused(["--csv", tmp_path / "f.csv"], "has no run")


def test_a_run_without_remaining_budget_is_not_resumed(graph: Path, database: Path) -> None:
    session = Session(read_graph(graph, {}), Store())
    key = session.key
    run = replace(
        a_run(),
        graph=key.graph,
        options=key.options,
        machine=key.machine,
        seconds=60.0,
        space="{parameters: {iR: [4]}, nests: [[i, i#iR]]}",
    )
    session.store.add_run(run)
    with pytest.raises(UserError, match="has used its 60 s"):
        session.resume(None, None)
    session.store.close()


def test_show_prints_a_readable_strategy_file(
    graph: Path, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tune.run([str(graph), "--show"])
    first = capsys.readouterr().out
    (tmp_path / "mine.yaml").write_text(first)
    tune.run([str(graph), "--show", "--strategy", str(tmp_path / "mine.yaml")])
    assert capsys.readouterr().out == first
    assert "operator: C" in first


def test_a_run_without_measurements_is_not_called_wrong() -> None:
    assert outcome_text(a_run(), []).endswith("before its first measurement; see --budget\n")
    assert outcome_text(a_run(), [wrong("x")]).endswith("no candidate is correct\n")


def test_csv_cells_are_not_formulas() -> None:
    bad = Result('=HYPERLINK("x")', {"iR": 4, "-x": 1}, "failed", "+cmd|' /C calc'!A0", worker="@a")
    rows = list(csv.reader(csv_text(a_run(), [bad, ok("C: [i]", 1e-3), wrong("x")]).splitlines()))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
    assert rows[1][rows[0].index("schedule")] == '\'=HYPERLINK("x")'
    assert float(rows[2][rows[0].index("gflops")]) == pytest.approx(1e-3)


def test_a_missing_tuned_schedule_has_a_hint(graph: Path, database: Path) -> None:
    with pytest.raises(UserError, match="hint: search for one with `xtc-tune`"):
        xtc.compile(read_graph(graph, {}), schedule="tuned")
