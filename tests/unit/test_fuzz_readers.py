# SPDX-License-Identifier: Apache-2.0
"""Arbitrary options, variables, manifests, artifacts and constants give a value or an error."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit import hostile_text
from xtc.core import discover
from xtc.core.errors import ArtifactError, ToolError, UserError
from xtc.core.knobs import CC, KNOBS
from xtc.core.types import tensor_type
from xtc.graph.constants_file import read_constants, write_constants
from xtc.interfaces.artifact import MANIFEST_FILE, Argument, Artifact, Manifest, file_hash
from xtc.ir import known_passes
from xtc.ir.passes import split_pass

HERE = Path(MANIFEST_FILE)
MANIFEST = Manifest(
    entry="f",
    target="null",
    arguments=(Argument("x", "float32", (2, 3), "input"), Argument("y", "int8", (), "output")),
    toolchain={"xtc": "1"},
    files={"module.mlir": "0" * 64},
).to_json()
TYPES = {"w": tensor_type((3, 2), "float32"), "b": tensor_type((), "bool")}
ODD_JSON = st.sampled_from(
    [
        "NaN",
        "-Infinity",
        "1e999",
        "9" * 5000,
        '"\\ud800"',
        '"\\u0000"',
        '"../x"',
        "[]",
        "{}",
        "null",
    ]
)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory, in which no canary may appear."""
    path = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch, hostile_text.nothing_evaluated(path):
        patch.chdir(path)
        yield path


@pytest.mark.slow
@given(st.data())
def test_any_options_of_passes(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([*known_passes.passes().values()]))
    names = [name.replace("_", "-") for name in getattr(kind, "__dataclass_fields__", {})]
    word = st.one_of(hostile_text.texts, st.sampled_from([*names, "x"]))
    pairs = data.draw(st.lists(st.tuples(word, st.sampled_from(["=", "", " "]), word), max_size=3))
    text = " ".join("".join(pair) for pair in pairs)
    with contextlib.suppress(UserError):
        parsed = kind.parse_options(text)
        assert kind.parse_options(split_pass(str(parsed))[1]) == parsed


@pytest.mark.slow
@given(st.data())
def test_any_options_of_targets(data: st.DataObject) -> None:
    target = discover.target(data.draw(st.sampled_from(discover.targets())))
    names = sorted(target.Options.__dataclass_fields__)
    name = st.one_of(st.sampled_from(names or ["x"]), hostile_text.texts)
    texts = data.draw(st.dictionaries(name, hostile_text.texts, max_size=3))
    with contextlib.suppress(UserError):
        target.options(**target.option_values(texts))


@given(st.sampled_from(sorted(KNOBS)), hostile_text.texts)
def test_any_environment(name: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(UserError):
        patch.setenv(name, text)
        KNOBS[name].get()


@pytest.mark.parametrize("text", [t for t in hostile_text.PAYLOADS if t.split()[0] != "touch"])
@pytest.mark.slow
def test_the_compilers_name_is_not_run_by_a_shell(text: str, monkeypatch: Any) -> None:
    monkeypatch.setenv(CC.name, text)
    x = O.tensor((2,), name="X")
    with O.graph(name="positive") as gb:
        O.relu(x)
    with pytest.raises((ToolError, UserError)):
        xtc.compile(gb.graph, cache=False)


@given(st.one_of(st.text(), hostile_text.texts, ODD_JSON))
def test_any_text_is_no_manifest(text: str) -> None:
    with pytest.raises(ArtifactError):
        Manifest.from_json(text, HERE)


@pytest.mark.slow
@given(st.data())
def test_any_damaged_manifest(data: st.DataObject) -> None:
    text = MANIFEST
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = start + data.draw(st.integers(0, 12))
        text = text[:start] + data.draw(st.one_of(ODD_JSON, hostile_text.texts)) + text[stop:]
    with contextlib.suppress(ArtifactError):
        manifest = Manifest.from_json(text, HERE)
        assert Manifest.from_json(manifest.to_json(), HERE) == manifest


@pytest.mark.slow
@given(st.dictionaries(st.one_of(hostile_text.texts, st.text()), st.text(), min_size=1, max_size=3))
def test_any_files_in_a_manifest(files: dict[str, str]) -> None:
    place = Path("artifact")
    place.mkdir(exist_ok=True)
    manifest = {**json.loads(MANIFEST), "files": files}
    (place / MANIFEST_FILE).write_text(json.dumps(manifest))
    with pytest.raises(ArtifactError):
        Artifact.read(place)


@given(data=st.binary(max_size=200))
def test_any_bytes_for_a_manifest(data: bytes) -> None:
    place = Path("binary")
    place.mkdir(exist_ok=True)
    (place / MANIFEST_FILE).write_bytes(data)
    with pytest.raises(ArtifactError):
        Artifact.read(place)


@pytest.mark.parametrize("name", [MANIFEST_FILE, "module.mlir"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "endless", "loop", "missing"])
def test_special_files_are_not_read(tmp_path: Path, name: str, kind: str) -> None:
    """The reader neither blocks on them nor reads endlessly."""
    (tmp_path / MANIFEST_FILE).write_text(MANIFEST)
    path = tmp_path / name
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(name)
    with pytest.raises(ArtifactError):
        Artifact.read(tmp_path)


def test_an_endless_manifest_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / MANIFEST_FILE).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ArtifactError, match="larger than"):
        Artifact.read(tmp_path)


def test_large_files_are_hashed_in_pieces(tmp_path: Path) -> None:
    content = bytes(range(256)) * 20_000
    (tmp_path / "file").write_bytes(content)
    assert file_hash(tmp_path / "file") == hashlib.sha256(content).hexdigest()


def constants() -> bytes:
    """A valid file of constants."""
    file = io.BytesIO()
    write_constants(file, {"w": np.ones((3, 2), np.float32), "b": np.array(True)})
    return file.getvalue()


def test_a_valid_file_is_read() -> None:
    assert set(read(constants())) == {"w", "b"}


@pytest.mark.slow
@given(st.data())
def test_any_damaged_constants(data: st.DataObject) -> None:
    """An attacker can change the recorded hash together with the file."""
    content = bytearray(constants())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        stop = start + data.draw(st.integers(0, 8))
        content[start:stop] = data.draw(st.binary(max_size=8))
    with contextlib.suppress(UserError):
        arrays = read(bytes(content))
        assert {name: array.shape for name, array in arrays.items()} == {"w": (3, 2), "b": ()}


@given(st.binary(max_size=300))
@pytest.mark.slow
def test_arbitrary_bytes_are_refused_as_constants(content: bytes) -> None:
    with pytest.raises(UserError):
        read(content)


def test_pickled_objects_are_refused_as_constants() -> None:
    class Payload:
        def __reduce__(self) -> Any:
            return Path.touch, (Path(hostile_text.CANARY),)

    file = io.BytesIO()
    objects = np.array([Payload()], dtype=object)
    np.savez(file, w=objects, b=np.array(True), allow_pickle=True)
    with pytest.raises(UserError):
        read(file.getvalue())


def read(content: bytes) -> dict[str, Any]:
    path = Path("c.constants.npz")
    path.write_bytes(content)
    return read_constants(path, hashlib.sha256(content).hexdigest(), TYPES)
