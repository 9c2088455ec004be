# SPDX-License-Identifier: Apache-2.0
"""The evaluation of samples in `make bench-host`: rates, ratios, goals, tables."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.peers.goals import verdicts
from benchmarks.peers.page import Report, save
from benchmarks.peers.results import Rates, Row, geometric_mean
from benchmarks.peers.table import columns, overview, print_rows, print_verdicts, remarks
from benchmarks.peers.workloads import Workload
from tests.unit.bench_support import SMALL, row_of
from xtc.evaluate.timing import Timing

CUBE = replace(SMALL, name="matmul f32 256", goals=frozenset({"cube 256", "matmul"}))
LARGE = replace(SMALL, name="matmul f32 512", goals=frozenset({"cube 512", "matmul"}))


def test_a_slow_sample_is_a_low_rate() -> None:
    rates = Rates.of(8.0, Timing((1.0, 2.0, 4.0), 1))
    assert (rates.median, rates.best) == (4.0, 8.0)
    assert rates.p10 < rates.median < rates.p90


def best_peer(row: Row) -> tuple[str, int]:
    name, rate = row.best_peer() or ("", 0)
    return name, round(rate)


def test_ratio_to_the_best_library() -> None:
    row = row_of({"ours": 150, "tuned": 300, "numpy": 100, "torch": 120})
    assert best_peer(row) == ("torch", 120)
    assert row.ratio() == pytest.approx(1.25)
    assert row.ratio("numpy") == pytest.approx(100 / 120)
    assert row.fraction() == pytest.approx(0.75)
    assert row.fraction("tuned", kind="best") == pytest.approx(3.0)
    assert row.names == ["tuned", "ours", "torch", "numpy"]


def test_wrong_results_neither_win_nor_count() -> None:
    row = row_of({"ours": 150, "numpy": 100, "torch": 1000}, wrong={"torch": "1 element differs"})
    assert best_peer(row) == ("numpy", 100)
    row.wrong["ours"] = "all differ"
    assert row.ratio() is None
    assert row.fraction() is None


def test_candidates_that_did_not_run_are_not_compared() -> None:
    assert row_of({"ours": 1}).ratio() is None
    assert row_of({"numpy": 1}).ratio() is None
    assert replace(row_of({"ours": 1}), fma=None).fraction() is None


def test_memory_bound_rows_are_compared_with_traffic() -> None:
    workload = Workload("chain", "chain", "float32", ((1 << 20,),) * 2, (1 << 20,), bound="triad")
    row = row_of({"ours": 30}, workload=workload)
    assert workload.unit == "GB/s"
    assert row.fraction() is None
    row.traffic = Rates(40, 40, 40, 40)
    assert row.fraction() == pytest.approx(0.75)


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([]) is None


def states(rows: list[Row]) -> dict[str, str]:
    return {verdict.goal.what.split(":")[0]: verdict.state for verdict in verdicts(rows)}


def test_goals_met() -> None:
    rows = [row_of({"ours": 195, "numpy": 150}, workload=CUBE)]
    found = states(rows)
    assert found["f32 matmul of 256 and 512, 1 thread"] == "met"
    assert found["every workload"] == "met"
    assert found["all workloads"] == "met"
    assert found["f32 matmul of 1024 and 2048, 1 thread"] == "not measured"


def test_one_missed_row_misses_the_goal_and_is_named() -> None:
    rows = [
        row_of({"ours": 195, "numpy": 200}, workload=CUBE),
        row_of({"ours": 100, "numpy": 50}, workload=LARGE),
    ]
    judged = {verdict.goal.what.split(":")[0]: verdict for verdict in verdicts(rows)}
    ((name, value),) = judged["f32 matmul of 256 and 512, 1 thread"].missed
    assert (name, round(value, 3)) == ("matmul f32 512, 1 thread", 0.5)
    ((name, value),) = judged["every workload"].missed
    assert (name, round(value, 3)) == ("matmul f32 256, 1 thread", 0.975)
    assert judged["all workloads"].state == "met"


def test_a_wrong_or_absent_own_result_misses_the_goal() -> None:
    wrong = row_of({"ours": 195, "numpy": 100}, workload=CUBE, wrong={"ours": "differs"})
    absent = row_of({"numpy": 100}, workload=LARGE)
    assert states([wrong])["f32 matmul of 256 and 512, 1 thread"] == "missed"
    good = row_of({"ours": 199, "numpy": 100}, workload=CUBE)
    assert states([good, absent])["every workload"] == "missed"


def test_disturbed_rows_do_not_count_for_goals() -> None:
    row = row_of({"ours": 195, "numpy": 100}, workload=CUBE)
    row.quiet = (2, 4)
    assert states([row])["every workload"] == "met"
    row.quiet = (1, 4)
    assert set(states([row]).values()) == {"not measured"}


def test_goals_of_two_threads_may_use_best_samples() -> None:
    row = row_of({"ours": 90}, workload=LARGE, threads=2, fma=200)
    row.fma = Rates(median=200, p10=100, p90=205, best=205)
    name = "f32 matmul of 512, 1024 and 2048, 2 threads"
    assert states([row])[name] == "met"  # 180 of 205
    assert states([replace(row, threads=4)])[name] == "not measured"


def test_the_table_names_missing_and_wrong_candidates() -> None:
    row = row_of({"ours": 150, "numpy": 100}, wrong={"numpy": "3 elements differ"})
    row.absent["torch"] = "cannot be installed: no such version"
    headings, lines = overview([row])
    assert columns([row]) == ["ours", "numpy"]
    assert headings[2:4] == ["xtc", "NumPy (OpenBLAS)"]
    assert lines[0][2:4] == ["150 (300)", "100 (200) WRONG"]
    said = list(remarks([row, replace(row, threads=2)]))
    place = "[matmul f32 8x8x8 (1), matmul f32 8x8x8 (2)]"
    assert f"PyTorch did not run: cannot be installed: no such version {place}" in said
    assert f"NumPy (OpenBLAS) is WRONG: 3 elements differ {place}" in said


def test_printed_tables() -> None:
    out = io.StringIO()
    console = Console(file=out, width=200)
    rows = [row_of({"ours": 150, "numpy": 100}), row_of({"ours": 150, "numpy": 100}, threads=2)]
    print_rows(rows, console)
    print_verdicts(list(verdicts(rows)), console)
    text = out.getvalue()
    assert "1 thread: median (best)" in text
    assert "2 threads: median (best)" in text
    assert "in 2 of 2 rows; geometric mean of the ratios 1.50 (1.50 of best samples)" in text
    assert "met: every workload" in text


def report_of(rows: list[Row]) -> Report:
    facts = {"date": "today", "cpu": "chip", "hardware_threads": 2, "python": "CPython"}
    versions = {"numpy": {"numpy": "2.4"}}
    return Report(rows, versions, ["conv"], facts={**facts, "load_average": [0.5]})


def test_markdown_and_json() -> None:
    row = row_of({"ours": 150, "numpy": 100})
    row.absent["torch"] = "did not answer within 60 s"
    report = report_of([row])
    page = report.markdown()
    assert "numpy 2.4" in page
    assert (
        "| matmul f32 8x8x8 | GFLOP/s | 150 (300) | 100 (200) | 200 (200) | 1.50 | 0.75 |" in page
    )
    assert "- PyTorch did not run: did not answer within 60 s" in page
    assert "- no time was left for conv" in page
    saved = json.loads(json.dumps(report.as_dict()))
    numpy = saved["rows"][0]["candidates"]["numpy"]
    assert numpy["median"] == pytest.approx(100)
    assert numpy["fraction_of_best"] == pytest.approx(1.0)
    assert len(numpy["samples"]) == 3
    assert saved["goals"][0]["state"] == "not measured"


def test_an_empty_run_is_saved(tmp_path: Path) -> None:
    paths = save(report_of([]), tmp_path / "out", tmp_path / "environments")
    assert [path.name for path in paths] == ["bench-host.json", "bench-host.md"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "bench-host.json",
        "bench-host.md",
    ]
