# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib.util
import io
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from xtc.core.errors import UserError
from xtc.evaluate.timing import Timing

HARNESS = Path(__file__).parents[2] / "benchmarks" / "harness.py"


@pytest.fixture(scope="module")
def harness() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_harness", HARNESS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def order_of(harness: ModuleType, seed: int, rounds: int = 6) -> list[str]:
    calls: list[str] = []
    candidates = {name: (lambda n=name: calls.append(n)) for name in "abc"}
    harness.run_interleaved("order", candidates, baseline="a", rounds=rounds, seed=seed)
    assert calls[: 3 * 2] == ["a", "a", "b", "b", "c", "c"]  # warm-up and trial of each
    return calls[3 * 2 :]


def test_every_round_holds_every_candidate_once(harness: ModuleType) -> None:
    order = order_of(harness, seed=3)
    rounds = [order[i : i + 3] for i in range(0, len(order), 3)]
    assert len(rounds) == 6
    assert all(sorted(order) == ["a", "b", "c"] for order in rounds)
    assert len({tuple(order) for order in rounds}) > 1


def test_seed_decides_the_order(harness: ModuleType) -> None:
    assert order_of(harness, seed=3) == order_of(harness, seed=3)
    assert order_of(harness, seed=3) != order_of(harness, seed=4)


def report_of(harness: ModuleType) -> object:
    timings = {
        "slow": Timing((4e-3, 4e-3, 4e-3), 1),
        "base": Timing((2e-3, 2e-3, 2e-3), 5),
        "fast": Timing((1e-3, 1e-3, 1e-3), 1),
    }
    return harness.Report("matmul", "base", timings, 3, 0, harness.machine_facts())


def test_samples_are_kept(harness: ModuleType) -> None:
    report = harness.run_interleaved(
        "noop", {"a": lambda: None, "b": lambda: None}, baseline="b", rounds=4, min_repeat_ms=0.01
    )
    assert all(timing.repeat == 4 for timing in report.timings.values())
    assert all(min(timing.samples) > 0 for timing in report.timings.values())
    assert report.ratio("b") == 1


def test_the_table_has_a_row_for_each_candidate(harness: ModuleType) -> None:
    out = io.StringIO()
    harness.print_table(report_of(harness), Console(file=out, width=120))
    lines = out.getvalue().splitlines()
    assert "matmul: 3 interleaved rounds" in lines[0]
    assert "time / base" in out.getvalue()
    rows = [line for line in lines if " ms " in line]
    assert [row.split()[1] for row in rows] == ["fast", "base", "slow"]
    assert [row.split()[-2] for row in rows] == ["0.500", "1.000", "2.000"]
    assert "1 - 1 ms" in rows[0]


def test_a_saved_report_has_every_sample(harness: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "new" / "matmul.json"
    harness.save(report_of(harness), path)
    saved = json.loads(path.read_text())
    assert saved["baseline"] == "base"
    assert saved["candidates"]["slow"]["ratio"] == 2
    assert saved["candidates"]["base"]["number"] == 5
    assert saved["candidates"]["fast"]["samples"] == [1e-3] * 3
    facts = saved["facts"]
    assert facts["hardware_threads"] >= 1
    assert facts["memory_bytes"] > 0
    assert facts["cpu"]
    assert facts["versions"]["numpy"]
    assert facts["date"].endswith("+00:00")
    assert facts["command_line"] == sys.argv
    assert [p.name for p in path.parent.iterdir()] == ["matmul.json"]


def test_a_failed_save_leaves_nothing_and_keeps_the_old(
    harness: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "matmul.json"
    path.write_text("old")
    report = report_of(harness)
    monkeypatch.setattr(type(report), "as_dict", lambda self: {"bad": object()})
    with pytest.raises(TypeError):
        harness.save(report, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_processor_is_named(harness: ModuleType, tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Fast Chip 9\nmodel name\t: other\n")
    assert harness.cpu_model(cpuinfo) == "Fast Chip 9"
    assert harness.cpu_model(tmp_path / "absent")


def test_invalid_arguments_are_refused(harness: ModuleType) -> None:
    with pytest.raises(UserError, match="'nunpy' is not a candidate") as caught:
        harness.run_interleaved("x", {"numpy": lambda: None}, baseline="nunpy")
    assert "did you mean 'numpy'?" in str(caught.value)
    with pytest.raises(UserError, match="rounds is 0"):
        harness.run_interleaved("x", {"a": lambda: None}, baseline="a", rounds=0)


def test_an_error_in_a_candidate_passes_through(harness: ModuleType) -> None:
    def fails() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        harness.run_interleaved("x", {"a": lambda: None, "b": fails}, baseline="a")
