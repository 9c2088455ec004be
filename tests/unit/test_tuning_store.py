# SPDX-License-Identifier: Apache-2.0
"""The tuning database: round trips, and refusal of other files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import xtc.ops as O
from tests.unit.search_support import a_run, ok, wrong
from xtc.core.errors import UserError
from xtc.driver.tuned import TuningKey, graph_hash, options_text, tuned_schedule
from xtc.graph.graph import Graph
from xtc.search import Result, Store
from xtc.search.records import MODELLED
from xtc_targets.host import TARGET
from xtc_targets.host.options import HostOptions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tuning.db"


def matmul_graph(name: str = "product", size: int = 8) -> Graph:
    a, b = O.tensor((4, 16), name="A"), O.tensor((16, size), name="B")
    with O.graph(name=name) as builder:
        O.matmul(a, b, name="C")
    return builder.graph


def test_stored_records_round_trip(path: Path) -> None:
    with Store(path) as store:
        run = store.add_run(a_run())
        kept = [
            store.add_result(run.number, outcome)
            for outcome in (ok("C: [i]", 2e-3), wrong("C: [j]"))
        ]
    with Store(path, create=False) as store:
        assert store.run() == replace(run, seconds=kept[-1].at)
        assert store.results(run.number) == kept
        assert [record.number for record in kept] == [0, 1]
        store.finish_run(run.number, 9.5)
        assert store.runs() == [replace(run, seconds=9.5, finished=True)]


def test_the_best_results_are_correct_and_distinct(path: Path) -> None:
    with Store(path) as store:
        run = store.add_run(a_run()).number
        for outcome in (ok("slow", 3e-3), ok("fast", 2e-3), wrong("wrong"), ok("fast", 1e-3)):
            store.add_result(run, outcome)
        assert [(entry.schedule, entry.seconds) for entry in store.best(run, 5)] == [
            ("fast", 1e-3),
            ("slow", 3e-3),
        ]
        assert len(store.best(run)) == 1


def test_a_wrong_result_has_no_time() -> None:
    assert wrong("x").seconds is None
    assert Result("x", {}, "wrong", samples=(1e-3,)).seconds is None
    assert ok("x", 2e-3, 1e-3).seconds == 1e-3


def test_two_stores_write_concurrently(path: Path) -> None:
    with Store(path) as mine, Store(path) as other:
        first, second = mine.add_run(a_run()).number, other.add_run(a_run()).number
        mine.add_result(first, ok("a", 1.0))
        other.add_result(second, ok("b", 1.0))
        assert [len(mine.results(run)) for run in (first, second)] == [1, 1]


def test_other_files_are_refused(path: Path) -> None:
    with pytest.raises(UserError, match="there is no tuning database"):
        Store(path, create=False)
    path.write_text("this is not a database, whatever its name says\n" * 50)
    with pytest.raises(UserError, match="file is not a database"):
        Store(path)
    path.unlink()
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE other (x)")
    base.close()
    with pytest.raises(UserError, match="not one of schedules"):
        Store(path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE results SET samples = '[1e-3'",
        "UPDATE results SET samples = '[\"soon\"]'",
        "UPDATE results SET parameters = '7'",
        "UPDATE results SET at = 'late'",
        "UPDATE runs SET versions = 'none'",
        "UPDATE runs SET seconds = 'many'",
    ],
)
@pytest.mark.slow
def test_a_damaged_row_is_reported(path: Path, damage: str) -> None:
    with Store(path) as store:
        store.add_result(store.add_run(a_run()).number, ok("C: [i]", 2e-3))
    with closing(sqlite3.connect(path)) as base, base:
        base.execute(damage)
    with Store(path) as store, pytest.raises(UserError, match=r"tuning\.db is damaged") as error:
        store.results(store.run().number)
    assert error.value.hints == ("name another file with --db or XTC_TUNING_DB",)


def test_a_newer_format_is_refused(path: Path) -> None:
    Store(path).close()
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 99")
    base.close()
    with pytest.raises(UserError, match="format 99"):
        Store(path)


def test_an_older_format_is_upgraded(path: Path) -> None:
    with Store(path) as store:
        run = store.add_run(replace(a_run(), bandwidth=None))
        result = store.add_result(run.number, replace(ok("C: [i]", 2e-3), kind=MODELLED))
    with sqlite3.connect(path) as base:
        base.execute("ALTER TABLE runs DROP COLUMN bandwidth")
        base.execute("UPDATE results SET kind = 'modelled'")
        base.execute("PRAGMA user_version = 1")
    base.close()
    with Store(path) as store:
        assert store.runs() == [replace(run, seconds=result.at)]
        assert store.results(run.number) == [result]
        assert store.add_run(a_run()).bandwidth == 1e10
    Store(path).close()


def test_the_key_depends_on_the_computation_not_on_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert graph_hash(matmul_graph("one")) == graph_hash(matmul_graph("two"))
    assert graph_hash(matmul_graph()) != graph_hash(matmul_graph(size=4))
    monkeypatch.setenv("XTC_THREADS", "3")
    assert options_text(TARGET, HostOptions()) == "threads=3"
    assert options_text(TARGET, HostOptions(threads=1, opt_level=2)) == "opt_level=2 threads=1"


def test_the_fastest_schedule_is_found_by_its_key(path: Path) -> None:
    graph = matmul_graph()
    key = TuningKey.of(graph, TARGET, HostOptions(threads=2))
    same = {"graph": key.graph, "options": key.options, "machine": key.machine}
    with Store(path) as store:
        here = store.add_run(replace(a_run(), **same)).number
        elsewhere = store.add_run(replace(a_run(), **same | {"machine": "another"})).number
        store.add_result(here, ok("C: [i]", 2e-3))
        store.add_result(here, ok("C: [j]", 1e-3))
        store.add_result(here, wrong("C: [k]"))
        store.add_result(elsewhere, ok("C: [i, j]", 1e-4))
    assert tuned_schedule(graph, TARGET, HostOptions(threads=2), path) == "C: [j]"
    with pytest.raises(UserError, match="has been tuned on this machine") as caught:
        tuned_schedule(graph, TARGET, HostOptions(threads=1), path)
    assert any("on another" in note for note in caught.value.notes)


def test_a_missing_database_has_a_hint(path: Path) -> None:
    with pytest.raises(UserError, match="hint: search for one with `xtc-tune`"):
        tuned_schedule(matmul_graph(), TARGET, HostOptions(), path)
