# SPDX-License-Identifier: Apache-2.0
"""Large files of the cache: shared by hard links, and read again only after a change."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.system.cache import ArtifactCache, entry

KEY = "5" * 64
LARGE = bytes(range(256)) * (entry.LARGE // 256)


@pytest.fixture
def cache(tmp_path: Path) -> ArtifactCache:
    return ArtifactCache(tmp_path / "cache")


@pytest.fixture
def built(tmp_path: Path, cache: ArtifactCache) -> Path:
    folder = tmp_path / "built"
    folder.mkdir()
    (folder / "module.so").write_bytes(LARGE)
    (folder / "manifest.json").write_bytes(b"{}")
    assert cache.publish(KEY, folder)
    return folder


def fetched(cache: ArtifactCache, tmp_path: Path, name: str = "copy") -> Path | None:
    folder = tmp_path / name
    folder.mkdir()
    return folder / "module.so" if cache.fetch(KEY, folder) else None


def kept(cache: ArtifactCache) -> Path:
    return cache.root / "entries" / KEY / "module.so"


def test_a_large_file_is_shared_and_not_read(
    cache: ArtifactCache, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry, "_copy", only_small(entry._copy))
    library = fetched(cache, tmp_path)
    assert library is not None
    assert library.samefile(kept(cache))
    assert library.samefile(built / "module.so")
    assert not (library.parent / "manifest.json").samefile(built / "manifest.json")
    assert library.stat().st_mode & 0o222 == 0


def test_a_large_file_of_known_hash_is_not_read_when_it_is_published(
    cache: ArtifactCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "built"
    folder.mkdir()
    (folder / "module.so").write_bytes(LARGE)
    with monkeypatch.context() as patch:
        patch.setattr(entry, "_copy", only_small(entry._copy))
        assert cache.publish(KEY, folder, {"module.so": hashlib.sha256(LARGE).hexdigest()})
        assert fetched(cache, tmp_path) is not None
    os.utime(kept(cache), ns=(1, 1))  # read again now, and compared with the known hash
    assert fetched(cache, tmp_path, "again") is not None


def only_small(copy: Callable[[int, int | None], tuple[str, int]]) -> Callable[..., object]:
    def checked(source: int, target: int | None) -> tuple[str, int]:
        assert os.fstat(source).st_size < entry.LARGE
        return copy(source, target)

    return checked


def test_fetched_files_survive_clearing_the_cache(
    cache: ArtifactCache, built: Path, tmp_path: Path
) -> None:
    library = fetched(cache, tmp_path)
    cache.clear()
    assert library is not None
    assert library.read_bytes() == LARGE
    assert fetched(cache, tmp_path, "later") is None
    assert cache.publish(KEY, library.parent)


def test_another_file_system_gets_a_copy(
    cache: ArtifactCache, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(*_: object, **__: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", other)
    library = fetched(cache, tmp_path)
    assert library is not None
    assert library.read_bytes() == LARGE
    assert not library.samefile(kept(cache))


def rewritten(path: Path) -> None:
    path.chmod(0o600)
    with path.open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"!")
    path.chmod(0o400)


def replaced(path: Path) -> None:
    path.rename(path.parents[2] / "old")
    path.write_bytes(LARGE[:-1] + b"!")
    path.chmod(0o400)


@pytest.mark.parametrize("change", [rewritten, replaced])
def test_a_changed_large_file_is_detected(
    cache: ArtifactCache, built: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(kept(cache))
    assert fetched(cache, tmp_path) is None
    assert not kept(cache).parent.exists()


def test_a_large_file_with_another_stamp_is_read(
    cache: ArtifactCache, built: Path, tmp_path: Path
) -> None:
    os.utime(kept(cache), (1, 1))
    library = fetched(cache, tmp_path)
    assert library is not None
    assert library.read_bytes() == LARGE


@pytest.mark.slow
def test_modules_of_one_entry_share_no_variables(artifact_cache: Path) -> None:
    """The library's variables hold the arenas."""
    x = np.ones((1, 1200), np.float32)
    with xtc.compile(deep(1)) as built, xtc.compile(deep(1)) as first:
        assert first.cached
        files = [module.artifact.file("module.so") for module in (built, first)]
        assert files[0].samefile(files[1])
        expected = built(x)
        with xtc.compile(deep(1)) as second:
            assert np.array_equal(second(x), expected)
        assert np.array_equal(first(x), expected)
        built.close()
        assert np.array_equal(first(x), expected)


def deep(scale: float) -> xtc.Graph:
    """Two layers of weights larger than the size from which files are shared."""
    x = O.tensor((1, 1200), name="x")
    weights = np.full((1200, 1200), scale / 1200, np.float32)
    with O.graph(name="deep") as gb:
        hidden = O.softmax(O.matmul(x, O.tensor((1200, 1200), name="w", const=weights)))
        O.softmax(O.add(hidden, x), name="y")
    return gb.graph
