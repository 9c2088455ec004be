# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import hashlib
import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xtc.ops as O
from tests.unit.graph_support import two_layers
from xtc.core.errors import UserError
from xtc.graph import yaml_file, yaml_read
from xtc.graph.graph import Graph


def large(rows: int = 600) -> Graph:
    values = np.random.default_rng(0).standard_normal((rows, 300)).astype(np.float32)
    w = O.tensor((rows, 300), name="w", const=values)
    b = O.tensor((300,), "bfloat16", name="b", const=values[0].astype(ml_dtypes.bfloat16))
    m = O.tensor((300,), "bool", name="m", const=values[1] > 0)
    s = O.tensor((2,), "int64", name="s", const=np.array([1, -1]))
    with O.graph(name="large") as gb:
        O.outputs(
            O.matmul(O.tensor((2, rows), name="x"), w),
            O.cast(b, "float32"),
            O.cast(m, "int8"),
            O.neg(s),
        )
    return gb.graph


def test_a_graph_is_saved_and_loaded(tmp_path: Path) -> None:
    path = tmp_path / "graph.yaml"
    two_layers().save(path)
    assert path.read_text() == Graph.to_yaml(two_layers())
    assert Graph.load(path) == two_layers()
    assert Graph.load(str(path)) == two_layers()
    assert os.listdir(tmp_path) == ["graph.yaml"]  # noqa: PTH208


def test_large_constants_are_in_a_separate_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_file, "MAX_INLINE", 1 << 16)
    path = tmp_path / "large.yaml"
    large().save(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "large.constants.npz",
        "large.yaml",
    ]
    assert Graph.load(path) == large()
    assert path.stat().st_size < 2000
    with np.load(tmp_path / "large.constants.npz", allow_pickle=False) as file:
        assert sorted(file) == ["b", "m", "w"]
        assert file["w"].dtype == np.float32
        assert file["b"].dtype == np.uint16


def test_saving_is_deterministic(saved: Path) -> None:
    before = {file.name: file.read_bytes() for file in saved.parent.iterdir()}
    large(4).save(saved)
    assert {file.name: file.read_bytes() for file in saved.parent.iterdir()} == before


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph in two files."""
    monkeypatch.setattr(yaml_file, "MAX_INLINE", 1 << 10)
    path = tmp_path / "large.yaml"
    large(4).save(path)
    return path


def replace_constants(saved: Path, data: bytes) -> None:
    """Replace the constants, and their hash in the graph's file."""
    beside = saved.with_name("large.constants.npz")
    old, new = (hashlib.sha256(stored).hexdigest() for stored in (beside.read_bytes(), data))
    beside.write_bytes(data)
    saved.write_text(saved.read_text().replace(old, new))


def load_fails(path: Path, message: str) -> UserError:
    with pytest.raises(UserError) as info:
        Graph.load(path)
    assert message in str(info.value)
    return info.value


def test_changed_constants_are_detected(saved: Path) -> None:
    beside = saved.with_name("large.constants.npz")
    data = bytearray(beside.read_bytes())
    data[-200] ^= 1
    beside.write_bytes(data)
    error = load_fails(saved, "is not the file that was saved with the graph")
    assert str(error.where).startswith(f"{saved}:6:")


def test_missing_constants_are_detected(saved: Path) -> None:
    saved.with_name("large.constants.npz").unlink()
    load_fails(saved, "the constants file 'large.constants.npz' is missing")


@pytest.mark.parametrize("name", ["../large.npz", "/etc/passwd", "a/b.npz", "..", ".", "a\\b", ""])
def test_constants_stay_in_the_folder(saved: Path, name: str) -> None:
    saved.write_text(saved.read_text().replace('"large.constants.npz"', f"'{name}'"))
    load_fails(saved, "is not a plain file name")


def test_constants_of_another_file_are_not_parsed(saved: Path) -> None:
    with pytest.raises(UserError, match="the constants are in another file"):
        Graph.from_yaml(saved.read_text())


def npz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def npy(array: np.ndarray[Any, Any], **options: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


NOT_W = "w.npy is not an array of type 4x300xfloat32"
GOOD = {
    "w": npy(np.zeros((4, 300), np.float32)),
    "b": npy(np.zeros(300, np.uint16)),
    "m": npy(np.zeros(300, bool)),
}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is damaged"),
        (b"PK\x05\x06" + bytes(18), "does not contain the graph's constants"),
        (b"x" * 100, "is damaged"),
        (b"x" * (1 << 20), "is larger than its constants"),
        (npz(w=GOOD["w"], b=GOOD["b"]), "does not contain the graph's constants"),
        (npz(**GOOD, other=b""), "does not contain the graph's constants"),
        (npz(**GOOD)[:-40], "is damaged"),
        (npz(**GOOD | {"w": b"junk"}), "is damaged"),
        (
            npz(**GOOD | {"w": npy(np.zeros((300, 4), np.float32))}),
            NOT_W,
        ),
        (
            npz(**GOOD | {"w": npy(np.zeros((4, 300), ">f4"))}),
            NOT_W,
        ),
        (npz(**GOOD | {"w": npy(np.zeros((4, 300), np.float32, order="F"))}), "is damaged"),
        (npz(**GOOD | {"w": npy(np.zeros((4, 300), np.float32))[:-1]}), "does not have 4800 bytes"),
        (
            npz(**GOOD | {"w": npy(np.array([{}]), allow_pickle=True)}),
            NOT_W,
        ),
        (npz(**GOOD | {"w": GOOD["w"].replace(b"(4, 300)", b"(((((((("[:8])}), "is damaged"),
        (npz(**GOOD | {"m": npy(np.full(300, 2, np.uint8).view(bool))}), "other than 0 and 1"),
    ],
)
def test_hostile_constants_are_refused(saved: Path, data: bytes, message: str) -> None:
    replace_constants(saved, data)
    load_fails(saved, message)


def test_compressed_constants_are_refused(saved: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in GOOD.items():
            archive.writestr(f"{name}.npy", data)
    replace_constants(saved, file.getvalue())
    load_fails(saved, "w.npy is compressed")


def test_other_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_fails(tmp_path / "absent.yaml", "there is no graph file")
    load_fails(tmp_path, "there is no graph file")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xff")
    load_fails(tmp_path / "latin.yaml", "is not UTF-8 text")
    os.mkfifo(tmp_path / "pipe")
    load_fails(tmp_path / "pipe", "there is no graph file")
    monkeypatch.setattr(yaml_file, "LIMITS", replace(yaml_read.LIMITS, text=10))
    (tmp_path / "long.yaml").write_text("# long\n" * 10)
    load_fails(tmp_path / "long.yaml", "is longer than")


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("where", ["fsync", "replace", "constants"])
def test_a_failed_save_changes_nothing(
    saved: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    before = {file.name: file.read_bytes() for file in saved.parent.iterdir()}
    if where == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    elif where == "replace":
        monkeypatch.setattr(Path, "replace", full)
    else:
        monkeypatch.setattr(yaml_file, "write_constants", full)
    with pytest.raises(UserError, match=r"cannot be saved .*\n.*No space left on device"):
        large(5).save(saved)
    assert {file.name: file.read_bytes() for file in saved.parent.iterdir()} == before


def test_an_unwritable_path_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be saved"):
        two_layers().save(tmp_path / "absent" / "graph.yaml")
    with pytest.raises(UserError, match="it is a folder"):
        two_layers().save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_constants_of_wrong_size_are_not_read(saved: Path) -> None:
    text = saved.read_text().replace("shape: [4, 300]", "shape: [400000, 300]")
    saved.write_text(text)
    load_fails(saved, "is damaged")
