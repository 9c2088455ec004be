# SPDX-License-Identifier: Apache-2.0
"""The key of a compilation depends on everything that affects the code, and on nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.cache_graphs import matmul_graph
from xtc.driver import prepare
from xtc.driver.cached import compilation_key
from xtc.system.cache import (
    NoCanonicalFormError,
    NoFingerprintError,
    cache_key,
    canonical_text,
    code_fingerprint,
)
from xtc.system.cache import fingerprint as fingerprints

parts = st.dictionaries(st.text(max_size=4), st.text(max_size=4) | st.binary(max_size=4))


@pytest.mark.slow
@given(parts, parts)
def test_only_equal_parts_have_equal_keys(
    a: dict[str, str | bytes], b: dict[str, str | bytes]
) -> None:
    assert (cache_key(a) == cache_key(b)) == (a == b)
    assert cache_key(a) == cache_key(dict(reversed(a.items())))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"a": "bc"}, {"ab": "c"}),
        ({"a": "b", "c": "d"}, {"a": "bcd"}),
        ({"a": "b"}, {"a": b"b"}),
        ({"a": "1 b text 1\nc"}, {"a": "", "b": "c"}),
        ({"a": ""}, {}),
    ],
)
def test_parts_of_a_key_are_delimited(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert cache_key(a) != cache_key(b)


def key_of(graph: xtc.Graph | None = None, **options: Any) -> str:
    return compilation_key(prepare(graph or matmul_graph(), **options)).text


def test_a_key_does_not_depend_on_source_locations() -> None:
    first = matmul_graph()
    second = matmul_graph()
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
        lambda: key_of(matmul_graph(rows=5)),
        lambda: key_of(matmul_graph(scale=3.0)),
        lambda: key_of(matmul_graph(name="other")),
        lambda: key_of(opt_level=2),
        lambda: key_of(cpu="skylake-avx512"),
        lambda: key_of(cpu="skylake-avx512", features="-avx512f"),
        lambda: key_of(triple="aarch64-linux-gnu"),
    ],
    ids=["shape", "constant", "name", "level", "cpu", "features", "triple"],
)
def test_everything_that_affects_code_changes_the_key(other: Callable[[], str]) -> None:
    assert other() != key_of()


PLAIN = (1, 1.0, True, "1", (1,), [1], ("1",), None, b"1", {1: 1}, {1}, Path("1"), -0.0, 0.0)


def test_different_values_have_different_texts() -> None:
    assert len({canonical_text(value) for value in PLAIN}) == len(PLAIN)
    assert canonical_text({"a": 1, "b": 2}) == canonical_text({"b": 2, "a": 1})
    assert canonical_text({"x", "y", "z"}) == canonical_text({"z", "x", "y"})


@pytest.mark.parametrize("value", [object(), [object()], {"a": {1: len}}, np.float32(1)])
def test_only_plain_data_has_a_canonical_text(value: object) -> None:
    with pytest.raises(NoCanonicalFormError, match="is not plain data"):
        canonical_text(value)


def test_the_operator_is_in_the_key() -> None:
    def graph_of(operator: Callable[..., Any]) -> xtc.Graph:
        with O.graph(name="f") as gb:
            operator(O.tensor((4, 6), name="a"), name="b")
        return gb.graph

    assert key_of(graph_of(O.neg)) != key_of(graph_of(O.relu)) == key_of(graph_of(O.relu))


def test_constants_are_compared_by_their_bits() -> None:
    assert key_of(matmul_graph(scale=0.0)) != key_of(matmul_graph(scale=-0.0))


Digest = Callable[[], str]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Digest]:
    """A package that is not imported, as if it existed when the process started; its digest."""
    folder = tmp_path / "found" / "invented"
    (folder / "csrc").mkdir(parents=True)
    for name, text in {"__init__.py": "", "a.py": "A = 1", "csrc/driver.c": "int a;"}.items():
        (folder / name).write_text(text)
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


def test_files_without_code_do_not_affect_the_fingerprint(package: tuple[Path, Digest]) -> None:
    folder, digest = package
    before = digest()
    (folder / "__pycache__").mkdir()
    for name in ("__pycache__/a.pyc", ".a.py.swp", "a.py~", "#a.py#"):
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


def test_the_key_depends_on_this_projects_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of()
    names = {file.name for file in compilation_key(prepare(matmul_graph())).code._files}
    assert {"xtc/ops/matmul.py", "xtc_passes/__init__.py", "xtc/system/cache/store.py"} <= names
    real = fingerprints._files
    monkeypatch.setattr(fingerprints, "_known", {})
    monkeypatch.setattr(fingerprints, "_files", lambda packages: real(packages)[1:])
    assert key_of() != before
