# SPDX-License-Identifier: Apache-2.0
"""The artifact cache as a store of folders: lookup and eviction."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path

import pytest

from xtc.system.cache import ArtifactCache, entry, store

KEY = "ab" * 32
OTHER = "cd" * 32


def folder_with(path: Path, files: Mapping[str, bytes]) -> Path:
    path.mkdir(parents=True)
    for name, content in files.items():
        (path / name).write_bytes(content)
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def cache(tmp_path: Path) -> ArtifactCache:
    return ArtifactCache(tmp_path / "cache")


FILES = {"module.so": b"code" * 100, "manifest.json": b"{}\n"}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = folder_with(tmp_path / "built", FILES)
    (folder / "module.so").chmod(0o755)
    return folder


def test_a_published_entry_is_found(cache: ArtifactCache, built: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    assert not cache.fetch(KEY, tmp_path / "copy")
    assert cache.publish(KEY, built)
    assert cache.fetch(KEY, tmp_path / "copy")
    assert content(tmp_path / "copy") == FILES
    assert os.access(tmp_path / "copy" / "module.so", os.X_OK)
    assert not (tmp_path / "copy" / "manifest.json").stat().st_mode & 0o111
    assert cache.lookup(OTHER) is None
    assert cache.lookup(KEY) == cache.entries()[0].folder


def test_a_copy_outlives_its_entry(cache: ArtifactCache, built: Path, tmp_path: Path) -> None:
    cache.publish(KEY, built)
    (tmp_path / "copy").mkdir()
    cache.fetch(KEY, tmp_path / "copy")
    assert cache.clear().count == 1
    assert content(tmp_path / "copy") == FILES
    assert cache.entries() == []


def test_the_first_entry_of_a_key_stays(cache: ArtifactCache, built: Path, tmp_path: Path) -> None:
    cache.publish(KEY, built)
    assert cache.publish(KEY, folder_with(tmp_path / "later", {"module.so": b"other"}))
    found = cache.lookup(KEY)
    assert found is not None
    assert (found / "module.so").read_bytes() == FILES["module.so"]


def test_a_lost_race_is_no_failure(
    cache: ArtifactCache, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(source: Path, folder: Path, key: str, known: Mapping[str, str]) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(store, "write_entry", entry.write_entry)
            cache.publish(key, folder_with(tmp_path / "faster", {"module.so": b"faster"}))
        entry.write_entry(source, folder, key, known)

    monkeypatch.setattr(store, "write_entry", lose)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.publish(KEY, built)
    found = cache.lookup(KEY)
    assert found is not None
    assert (found / "module.so").read_bytes() == b"faster"


def test_no_temporary_folder_remains(cache: ArtifactCache, built: Path) -> None:
    cache.publish(KEY, built)
    cache.prune(0)
    assert sum(1 for _ in (cache.root / "tmp").rglob("*")) == 2  # this process's folder and lock


@pytest.mark.parametrize("key", ["", "..", "../../etc", KEY.upper(), KEY + "0"])
def test_an_invalid_key_is_refused(cache: ArtifactCache, built: Path, key: str) -> None:
    with pytest.raises(ValueError, match="is not a key"):
        cache.publish(key, built)
    with pytest.raises(ValueError, match="is not a key"):
        cache.lookup(key)


def keys_by_use(cache: ArtifactCache) -> list[str]:
    return [entry.key[:2] for entry in cache.entries()]


def published(cache: ArtifactCache, built: Path, *names: str, step: int = 100) -> None:
    """Entries named `00`, `01`..., each used `step` seconds after the one before it."""
    start = time.time() - step * len(names)
    for position, name in enumerate(names):
        cache.publish(name * 32, built)
        used = start + step * position
        os.utime(cache.root / "entries" / (name * 32), (used, used))


def test_the_least_recently_used_entries_are_evicted_first(
    cache: ArtifactCache, built: Path
) -> None:
    published(cache, built, "00", "01", "02")
    cache.lookup("00" * 32)
    assert keys_by_use(cache) == ["00", "02", "01"]
    size = cache.entries()[0].size
    assert size == 3 * 4096
    assert cache.prune(2 * size).count == 1
    assert keys_by_use(cache) == ["00", "02"]
    assert cache.prune(2 * size).count == 0


def test_pruning_by_age_removes_unused_entries(cache: ArtifactCache, built: Path) -> None:
    published(cache, built, "00", "01", "02", step=1000)
    assert cache.prune(older_than=1500).count == 2
    assert keys_by_use(cache) == ["02"]


@pytest.mark.slow
def test_publishing_beyond_the_limit_evicts_entries(tmp_path: Path, built: Path) -> None:
    cache = ArtifactCache(tmp_path / "small", limit_bytes=10 * 3 * 4096)
    published(cache, built, *(f"{number:02}" for number in range(10)))
    assert len(cache.entries()) == 10
    cache.publish(KEY, built)
    assert keys_by_use(cache) == ["ab", *(f"{number:02}" for number in range(9, 1, -1))]


def test_an_entry_larger_than_the_limit_is_not_stored(tmp_path: Path, built: Path) -> None:
    cache = ArtifactCache(tmp_path / "small", limit_bytes=4096)
    assert not cache.publish(KEY, built)
    assert cache.entries() == []


def test_a_missing_cache_is_empty(cache: ArtifactCache) -> None:
    assert (cache.entries(), cache.prune().count, cache.clear().size) == ([], 0, 0)
    assert not cache.root.exists()
