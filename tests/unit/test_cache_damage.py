# SPDX-License-Identifier: Apache-2.0
"""Damaged and foreign entries of the artifact cache are detected, removed, and never returned."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import xtc
from tests.unit.cache_graphs import matmul_graph
from xtc.system.cache import ArtifactCache, entry

KEY = "ab" * 32
OTHER = "cd" * 32
FILES = {"module.so": b"\x7fELF" + bytes(range(256)) * 20, "manifest.json": b'{"entry": "f"}\n'}


@pytest.fixture
def cache(tmp_path: Path) -> ArtifactCache:
    return ArtifactCache(tmp_path / "cache")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "built"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def published(cache: ArtifactCache, built: Path) -> Path:
    """The folder of an entry."""
    cache.publish(KEY, built)
    found = cache.lookup(KEY)
    assert found is not None
    return found


def assert_detected(cache: ArtifactCache, tmp_path: Path) -> None:
    """Check that the entry is a miss and removed, and that none of its files were returned."""
    copy = tmp_path / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    assert not cache.fetch(KEY, copy)
    assert list(copy.iterdir()) == []
    assert cache.entries() == []
    assert not os.path.lexists(cache.root / "entries" / KEY)


def rewrite(path: Path, content: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(content)


def positions(size: int, is_long: bool) -> list[int]:
    """Bytes to damage: all or some, always the first and the last."""
    step = max(1, size // (1000 if is_long else 8))
    return sorted({*range(0, size, step), size - 1})


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FILES, entry.SEAL_FILE])
def test_a_flipped_bit_is_detected(
    cache: ArtifactCache, built: Path, tmp_path: Path, is_long: bool, name: str
) -> None:
    cache.publish(KEY, built)
    path = cache.root / "entries" / KEY / name
    for position in positions(path.stat().st_size, is_long):
        damaged = bytearray(path.read_bytes())
        damaged[position] ^= 1 << position % 8
        rewrite(path, bytes(damaged))
        assert_detected(cache, tmp_path)
        assert cache.publish(KEY, built)


@pytest.mark.parametrize("name", [*FILES, entry.SEAL_FILE])
@pytest.mark.parametrize("part", [0, 0.5, 0.999, 1.5])
def test_another_length_is_detected(
    cache: ArtifactCache, published: Path, tmp_path: Path, name: str, part: float
) -> None:
    content = (published / name).read_bytes()
    rewrite(published / name, (content * 2)[: int(len(content) * part)])
    assert_detected(cache, tmp_path)


def as_link(path: Path) -> None:
    real = path.rename(path.parents[2] / "real")
    path.symlink_to(real)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def with_another_name(path: Path) -> None:
    os.link(path, path.parents[2] / "second")


STRANGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "symbolic link": as_link,
    "hard link": with_another_name,
    "folder": as_folder,
    "named pipe": as_pipe,
    "group may write": lambda path: path.chmod(0o460),
    "others may write": lambda path: path.chmod(0o402),
}


@pytest.mark.parametrize("name", [*FILES, entry.SEAL_FILE])
@pytest.mark.parametrize("change", STRANGE.values(), ids=STRANGE)
def test_a_foreign_file_is_detected(
    cache: ArtifactCache,
    published: Path,
    tmp_path: Path,
    change: Callable[[Path], object],
    name: str,
) -> None:
    change(published / name)
    assert_detected(cache, tmp_path)


def with_one_more_file(folder: Path) -> None:
    (folder / "more.so").write_bytes(b"")


def of_another_key(folder: Path) -> None:
    shutil.rmtree(folder)
    assert ArtifactCache(folder.parents[1]).publish(OTHER, folder.parents[2] / "built")
    folder.with_name(OTHER).rename(folder)


def emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


STRANGE_FOLDERS: dict[str, Callable[[Path], object]] = {
    "one more file": with_one_more_file,
    "another key's": of_another_key,
    "symbolic link": as_link,
    "no folder": lambda path: path.rename(path.parents[2] / "real") and path.write_bytes(b""),
    "empty": emptied,
    "group may write": lambda path: path.chmod(0o720),
}


@pytest.mark.parametrize("change", STRANGE_FOLDERS.values(), ids=STRANGE_FOLDERS)
def test_a_foreign_entry_is_detected(
    cache: ArtifactCache, published: Path, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    change(published)
    assert_detected(cache, tmp_path)


def test_a_removed_entry_is_logged(
    cache: ArtifactCache, published: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rewrite(published / "module.so", b"")
    assert cache.lookup(KEY) is None
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert f"{published}: 'module.so' has 0 bytes instead of" in record.getMessage()


@pytest.mark.slow
def test_damaged_code_is_never_loaded(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    xtc.compile(matmul_graph()).close()
    (found,) = ArtifactCache(artifact_cache).entries()
    library = found.folder / "module.so"
    good = library.read_bytes()
    loaded = []

    load = ctypes.CDLL.__init__

    def watched(self: ctypes.CDLL, name: str) -> None:
        loaded.append(Path(name).read_bytes())
        load(self, name)

    monkeypatch.setattr(ctypes.CDLL, "__init__", watched)
    for position in range(0, len(good), len(good) // 4):
        damaged = bytearray(good)
        damaged[position] ^= 0xFF
        rewrite(library, bytes(damaged))
        with xtc.compile(matmul_graph()) as module:
            assert not module.cached
            assert module(np.ones((4, 6), np.float32))[0, 0] == 12
        assert library.read_bytes() == good
    assert len(loaded) >= 4
    assert set(loaded) == {good}


def removed(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def as_other_kind(path: Path) -> None:
    was_folder = path.is_dir()
    removed(path)
    path.write_bytes(b"no folder") if was_folder else path.mkdir()


def as_piped(path: Path) -> None:
    removed(path)
    os.mkfifo(path, 0o600)


def linked_elsewhere(path: Path) -> None:
    path.symlink_to(path.rename(path.parents[1] / "elsewhere"))


OWN = (removed, as_other_kind, as_piped, linked_elsewhere, lambda path: path.chmod(0o777))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::xtc.system.cache.CacheWarning")
@pytest.mark.parametrize("name", ["usage", "CACHEDIR.TAG", "entries", "tmp"])
@pytest.mark.parametrize("change", OWN, ids=lambda change: change.__name__)
def test_damaged_files_of_the_cache_itself_change_no_result(
    artifact_cache: Path, name: str, change: Callable[[Path], object]
) -> None:
    xtc.compile(matmul_graph()).close()
    change(artifact_cache / name)
    for rows in (4, 5):
        with xtc.compile(matmul_graph(rows)) as module:
            np.testing.assert_array_equal(module(np.ones((rows, 6), np.float32)), 12)
