# SPDX-License-Identifier: Apache-2.0
"""A manifest is read back as it was written, and invalid ones are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtc.core.errors import ArtifactError
from xtc.interfaces.artifact import MANIFEST_FILE, Argument, Artifact, Manifest, file_hash
from xtc.interfaces.offload import DeviceImage, Kernel, Offload, Resident

HERE = Path("manifest.json")
MANIFEST = Manifest(
    entry="f",
    target="null",
    arguments=(
        Argument("x", "float32", (2, 3), "input"),
        Argument("y", "int8", (), "output", "null0"),
    ),
    toolchain={"xtc": "1"},
    offload=Offload(
        images={"null0": DeviceImage("null", "null0.so", {"cpu": "generic"})},
        kernels=(Kernel("null0", "f_null0_0", ("address", "int32")),),
        residents=(Resident("null0", "f.W", 256),),
    ),
    flops=12,
    files={"module.mlir": "0" * 64},
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


def write(folder: Path, files: dict[str, str], contents: dict[str, bytes]) -> Path:
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    manifest = Manifest("f", "null", (), {}, files=files)
    (folder / MANIFEST_FILE).write_text(manifest.to_json())
    return folder


def test_a_manifest_round_trips() -> None:
    assert Manifest.from_json(MANIFEST.to_json(), HERE) == MANIFEST
    assert [argument.name for argument in MANIFEST.inputs] == ["x"]
    assert [argument.name for argument in MANIFEST.outputs] == ["y"]
    assert [argument.nbytes for argument in MANIFEST.arguments] == [24, 1]


@pytest.mark.slow
@given(json_values)
def test_any_json_is_read_or_refused(value: Any) -> None:
    with pytest.raises(ArtifactError, match="the manifest cannot be read"):
        Manifest.from_json(json.dumps(value), HERE)


@pytest.mark.slow
@given(st.data())
def test_a_wrong_value_is_refused_or_has_the_right_type(data: st.DataObject) -> None:
    tree = json.loads(MANIFEST.to_json())
    holder = data.draw(st.sampled_from([tree, *tree["arguments"]]))
    key = data.draw(st.sampled_from(sorted(holder)))
    holder[key] = data.draw(json_values)
    try:
        manifest = Manifest.from_json(json.dumps(tree), HERE)
    except ArtifactError:
        return
    assert isinstance(manifest.entry + manifest.target, str)
    assert manifest.flops >= 0
    for argument in manifest.arguments:
        assert argument.nbytes >= 0
        assert argument.role in ("input", "output")
    assert all(isinstance(x, str) for pair in manifest.files.items() for x in pair)


@pytest.mark.parametrize(
    "text", ["", "{", "null", '{"format": 1}', "[" * 100_000, '{"format": 1, "entry": "f"}', "\0"]
)
def test_an_invalid_manifest_is_refused(text: str) -> None:
    with pytest.raises(ArtifactError):
        Manifest.from_json(text, HERE)


def test_a_complete_artifact_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"content")
    write(tmp_path, {"a": file_hash(tmp_path / "a")}, {})
    artifact = Artifact.read(tmp_path)
    assert artifact.file("a").read_bytes() == b"content"
    with pytest.raises(ArtifactError, match=r"has no file 'manifest\.json'"):
        artifact.file(MANIFEST_FILE)


@pytest.mark.parametrize(
    ("files", "contents"),
    [
        ({"a": "0" * 64}, {"a": b""}),
        ({"a": ""}, {}),
        ({"a": ""}, {"a": b""}),
        ({"..": ""}, {}),
        ({"": ""}, {}),
        ({"b/a": ""}, {}),
        ({"/etc/hostname": ""}, {}),
    ],
)
def test_a_file_that_differs_from_the_manifest_is_refused(
    tmp_path: Path, files: dict[str, str], contents: dict[str, bytes]
) -> None:
    with pytest.raises(ArtifactError, match="does not match the manifest"):
        Artifact.read(write(tmp_path, files, contents))
