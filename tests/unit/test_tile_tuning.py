# SPDX-License-Identifier: Apache-2.0
"""Candidates of tile kernels: compiled in processes that may crash, ranked, and selected once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.tile_kernels import VectorAdd
from xtc import tile
from xtc.cli.tune_report import results_text, runs_text
from xtc.core.errors import ChildDied, ChildTimeout, CompileError, UserError
from xtc.search.store import Store
from xtc.system.cache import configured_cache
from xtc.system.cache.fingerprint import CodeFingerprint
from xtc.system.sandbox import Limits, Workers
from xtc.tile.tuning import ranking as tuning
from xtc.tile.tuning.model import modelled_seconds

pytestmark = pytest.mark.slow


@tile.autotune("block", [64, 1024])
class Tuned(VectorAdd):
    """Both of its schedules compile."""


@tile.autotune("block", [128, 64, 256, 512])
class Mixed(VectorAdd):
    """Only the schedule with 64 compiles; the compiler crashes for the others."""


@pytest.fixture
def spoiled_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    workers = Workers("tests.unit.tile_crash_worker")
    monkeypatch.setattr(tuning, "_workers", workers)
    monkeypatch.setattr(tuning, "LIMITS", Limits(seconds=3.0))
    yield
    workers.close()


@pytest.mark.usefixtures("spoiled_workers", "artifact_cache")
def test_candidates_that_crash_the_compiler_are_listed_with_their_causes() -> None:
    ranked: Any = Mixed().candidates(700, None, None, None)
    errors = {each.parameters["block"]: each.error for each in ranked}
    assert next(iter(errors)) == 64
    assert errors[64] is None
    assert {block: type(error) for block, error in errors.items() if error} == {
        128: ChildDied,
        256: ChildTimeout,
        512: CompileError,
    }
    assert "compiling Mixed crashed: the process" in str(errors[128])
    assert "AssertionError: a bug" in str(errors[512])
    assert str(ranked[0]).endswith(" us (modelled)")
    assert "block=256: compiling Mixed took longer than 3 s and was ended" in map(str, ranked)


@pytest.mark.usefixtures("spoiled_workers", "artifact_cache")
def test_a_kernel_without_a_compilable_candidate_lists_the_causes() -> None:
    bad = tile.autotune("block", [128, 512])(type("Bad", (VectorAdd,), {}))
    with pytest.raises(UserError, match="no schedule of Bad compiles") as caught:
        bad().compile(700, None, None, None)
    assert [note.split(":")[0] for note in caught.value.notes] == ["block=128", "block=512"]
    # No choice is stored, because a compiler that crashed once may succeed later.
    assert configured_cache().entries() == []


@pytest.mark.usefixtures("spoiled_workers", "artifact_cache")
def test_searches_are_in_the_tuning_database_with_their_failures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CodeFingerprint, "unchanged", lambda _: True)
    kernel: Any = Mixed().compile(700, None, None, None)
    assert kernel.schedule == {"block": 64}
    with Store(create=False) as store:
        run = store.run()
        results = store.results(run.number)
        assert runs_text(store).startswith("1: Mixed on nvgpu arch=sm_")
        assert ": 4 estimates in " in runs_text(store)
        assert runs_text(store).rstrip().endswith("ns (modelled), not finished")
    assert (run.strategy, run.machine) == ("tile schedules", "static model")
    assert "func.func @Mixed" in run.text
    assert [(each.parameters["block"], each.status) for each in results] == [
        (64, "ok"),
        (128, "crashed"),
        (256, "timeout"),
        (512, "failed"),
    ]
    lines = results_text(run, results).splitlines()
    assert lines[1].endswith(" ns (modelled)  block=64")
    assert lines[3] == ("  timeout  block=256: compiling Mixed took longer than 3 s and was ended")


@pytest.mark.usefixtures("artifact_cache")
def test_an_unusable_database_is_reported_and_the_kernel_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(CodeFingerprint, "unchanged", lambda _: True)
    monkeypatch.setenv("XTC_TUNING_DB", str(tmp_path))
    kernel: Any = Tuned().compile(700, None, None, None)
    assert kernel.schedule["block"] in (64, 1024)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "tuning Tuned again: cannot use the tuning database" in caplog.text
    assert "the search for Tuned is not stored: cannot use" in caplog.text


@pytest.mark.usefixtures("artifact_cache")
def test_the_choice_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(*arguments: object) -> float:
        calls.append(1)
        return modelled_seconds(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(tuning, "modelled_seconds", counted)
    # Nothing is stored if a file of this project changes meanwhile, for example in an editor.
    monkeypatch.setattr(CodeFingerprint, "unchanged", lambda _: True)
    first: Any = Tuned().compile(700, None, None, None)
    assert (len(calls), first.cached) == (2, False)
    second = Tuned().compile(700, None, None, None)
    assert (len(calls), second.cached) == (2, True)
    assert (second.schedule, second.image) == (first.schedule, first.image)
    Tuned().compile(70000, None, None, None)  # which may need another one
    assert len(calls) == 4
