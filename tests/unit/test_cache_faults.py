# SPDX-License-Identifier: Apache-2.0
"""The artifact cache under kills, races, failing disks, and folders with other content."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import xtc
from tests.unit.cache_graphs import matmul_graph
from xtc.system.cache import ArtifactCache, CacheWarning, cache_folder, entry
from xtc.system.workspace import sweep

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
KEY = "ab" * 32


def worker(*command: object, prefix: tuple[str, ...] = (), **environment: object) -> dict[str, Any]:
    """The answer of a program of cache_worker.py, run with these environment variables."""
    variables = {name: str(value) for name, value in environment.items()}
    ran = subprocess.run(
        [*prefix, sys.executable, "-m", "tests.unit.cache_worker", *map(str, command)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},  # noqa: TID251
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def remaining_folders(*folders: Path) -> list[Path]:
    """The temporary folders that a later process finds, once the linkers of killed processes have
    ended."""
    deadline = time.monotonic() + 30
    while True:
        for folder in folders:
            sweep(folder)
        found = [path for folder in folders for path in folder.glob("*")]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def test_killed_compilations_leave_no_invalid_entry(
    artifact_cache: Path, tmp_path: Path, is_long: bool
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    answer = worker("kill_compilations", 200 if is_long else 8, 0, TMPDIR=temporary)
    assert answer["bad"] == []
    assert answer["hits"] == answer["kept"] >= 1
    (own,) = temporary.glob("xtc-*")
    assert remaining_folders(own, artifact_cache / "tmp") == []
    assert list(temporary.iterdir()) == [own]


@pytest.mark.parametrize("what", ["publish", "clear"])
def test_a_kill_at_any_step_leaves_the_cache_valid(artifact_cache: Path, what: str) -> None:
    answer = worker("kill_at_every_step", what)
    assert answer["status"] == 0
    assert answer["steps"] > 20
    assert 1 <= answer["kept"] < answer["steps"]
    assert answer["left"] == []
    assert answer["complaints"] == []


def test_racing_processes_leave_one_entry(artifact_cache: Path, is_long: bool) -> None:
    total = 16 if is_long else 6
    answer = worker("race", total)
    assert answer == {"right": total, "entries": 1, "bad": [], "hit": True}
    assert remaining_folders(artifact_cache / "tmp") == []


def test_threads_compile_and_run_concurrently(artifact_cache: Path, is_long: bool) -> None:
    total = 1000 if is_long else 60
    answer = worker("threads", 8, total)
    assert (answer["done"], answer["bad"]) == (total, [])
    assert answer["hits"] >= total // 4
    assert len(ArtifactCache(artifact_cache).entries()) == 6


@pytest.mark.usefixtures("artifact_cache")
def test_close_waits_for_calls_in_flight(is_long: bool) -> None:
    total = 200 if is_long else 10
    answer = worker("close_while_calling", total)
    assert answer == {"ended": 2 * total, "said": ["module 'products' is closed"]}


# Repetitions in a long run, in a normal run, and before the measurement.
LEAKS = {"hit": (10_000, 200, 100), "in_memory": (10_000, 20, 20), "linked": (1_000, 6, 6)}


@pytest.mark.usefixtures("artifact_cache")
@pytest.mark.parametrize("how", LEAKS)
def test_compiling_loading_and_unloading_leaks_no_memory(how: str, is_long: bool) -> None:
    long, usual, warm_up = LEAKS[how]
    # Per-thread memory pools would hide leaks for a long time.
    answer = worker("leak", long if is_long else usual, warm_up, how, MALLOC_ARENA_MAX=1)
    assert answer["descriptors"] == 0
    assert answer["growth"] < 0.01


def test_the_same_input_gives_the_same_bytes_in_every_process() -> None:
    answers = [worker("code", PYTHONHASHSEED=seed) for seed in (0, 4242)]
    assert answers[0] == answers[1]
    for objects, files, _ in answers[0].values():
        assert len(objects) == 2  # code and constants
        assert files


def compiled_with_warnings(times: int = 2) -> tuple[list[bool], list[str]]:
    """Whether compilations were hits (their results are checked), and the warnings."""
    hits = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(times):
            with xtc.compile(matmul_graph()) as module:
                module.check()
                hits.append(module.cached)
    assert all(issubclass(warning.category, CacheWarning) for warning in caught)
    return hits, [str(warning.message) for warning in caught]


def test_a_new_cache_is_private(artifact_cache: Path) -> None:
    before = os.umask(0)
    try:
        assert compiled_with_warnings() == ([False, True], [])
    finally:
        os.umask(before)
    assert artifact_cache.stat().st_mode & 0o777 == 0o700
    assert [p for p in artifact_cache.rglob("*") if p.is_dir() and p.stat().st_mode & 0o077] == []


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_cache_that_others_may_write_is_not_used(artifact_cache: Path, mode: int) -> None:
    assert compiled_with_warnings(1) == ([False], [])
    artifact_cache.chmod(mode)
    hits, (warning,) = compiled_with_warnings()
    assert hits == [False, False]
    assert f"{artifact_cache}: others may write to it (mode {mode:04o})" in warning


def test_a_cache_of_another_user_is_not_used(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compiled_with_warnings(1) == ([False], [])
    owner = os.geteuid()
    monkeypatch.setattr(tempfile, "tempdir", str(artifact_cache.parent))
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    hits, (warning,) = compiled_with_warnings()
    assert hits == [False, False]
    assert f"it belongs to user {owner}" in warning


def test_a_folder_with_other_content_is_untouched(artifact_cache: Path) -> None:
    (artifact_cache / "entries" / KEY).mkdir(parents=True)
    artifact_cache.chmod(0o700)
    hits, (warning,) = compiled_with_warnings()
    assert hits == [False, False]
    assert "neither empty nor marked as a cache" in warning
    assert [path.name for path in artifact_cache.iterdir()] == ["entries"]


def test_a_link_to_a_folder_may_be_the_cache(artifact_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    artifact_cache.symlink_to(tmp_path / "elsewhere")
    assert compiled_with_warnings() == ([False, True], [])


def failing(code: int) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise OSError(code, os.strerror(code), "somewhere")

    return fail


@pytest.mark.parametrize(
    ("where", "function", "code"),
    [
        (os, "fsync", errno.EIO),
        (entry, "_write", errno.ENOSPC),
        (entry, "_write", errno.EDQUOT),
        (cache_folder, "make_private", errno.EROFS),
        (Path, "rename", errno.EROFS),
        (ArtifactCache, "_count", errno.ENOSPC),
        (ArtifactCache, "_temporary", errno.EIO),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_failing_disk_causes_one_warning(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch, where: Any, function: str, code: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(where, function, failing(code))
        _, (warning,) = compiled_with_warnings()
        why = f"{artifact_cache}: {os.strerror(code)} (somewhere)"
        assert f"{why}; continuing without it" in warning
    hits, said = compiled_with_warnings()
    assert (hits[1], said) == (True, [])


def test_caches_on_small_disks_warn(tmp_path: Path, artifact_cache: Path) -> None:
    unshare = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "-Urm")
    if shutil.which("unshare") is None or subprocess.run([*unshare, "true"]).returncode:
        pytest.skip("no mount namespaces here; the test above raises the same errors")
    answer = worker("small_disks", tmp_path, prefix=unshare)
    for name, said in (("full", "No space left on device"), ("read_only", "Read-only file system")):
        assert answer[name]["hits"] == [False, False]
        (warning,) = answer[name]["warnings"]
        assert said in warning
        assert answer[name]["files"] == []
