# SPDX-License-Identifier: Apache-2.0
"""Code that `xtc.load` runs: the user's own, or foreign code with explicit trust."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import xtc
from tests.unit.cache_graphs import matmul_graph
from xtc.core.errors import ArtifactError
from xtc.system import ownership


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """An artifact created and saved with a permissive umask."""
    before = os.umask(0)
    try:
        with xtc.compile(matmul_graph()) as module:
            module.save(tmp_path / "saved")
    finally:
        os.umask(before)
    return tmp_path / "saved"


def assert_trusted(folder: Path, *, trust: bool = False) -> None:
    with xtc.load(folder, trust=trust) as module:
        assert module(np.ones((4, 6), np.float32))[0, 0] == 12


@pytest.mark.slow
def test_an_artifact_of_the_user_is_loaded(saved: Path) -> None:
    assert_trusted(saved)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o020, 0o002])
@pytest.mark.parametrize("name", ["", "module.so", "manifest.json"])
def test_an_artifact_that_others_may_write_needs_trust(saved: Path, name: str, mode: int) -> None:
    path = saved / name
    path.chmod(path.stat().st_mode | mode)
    with pytest.raises(xtc.UserError, match="another user may have written") as caught:
        xtc.load(saved)
    assert caught.value.where == saved
    assert f"{path}: others may write to it" in caught.value.notes[0]
    assert "xtc.load(folder, trust=True)" in str(caught.value)
    assert_trusted(saved, trust=True)


def test_an_artifact_of_another_user_needs_trust(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = os.geteuid()
    os.chown(saved, owner or 12345, -1)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(xtc.UserError, match="another user may have written") as caught:
        xtc.load(saved)
    assert f"it belongs to user {owner or 12345}" in caught.value.notes[0]
    assert_trusted(saved, trust=True)


def owned_by(uid: int) -> os.stat_result:
    return os.stat_result((0o100644, 0, 0, 1, uid, 0, 0, 0, 0, 0))


def test_files_of_root_are_trusted_where_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert ownership.foreign_reason(owned_by(1000)) is None
    assert ownership.foreign_reason(owned_by(0)) == "it belongs to user 0"
    assert ownership.foreign_reason(owned_by(0), allow_root=True) is None
    assert ownership.foreign_reason(owned_by(1001), allow_root=True) == "it belongs to user 1001"


def test_a_damaged_artifact_is_refused_in_spite_of_trust(saved: Path) -> None:
    library = saved / "module.so"
    library.write_bytes(library.read_bytes()[:-1])
    with pytest.raises(ArtifactError, match="does not match the manifest"):
        xtc.load(saved, trust=True)


def test_a_missing_artifact_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no artifact here"):
        xtc.load(tmp_path / "nowhere")
    with pytest.raises(ArtifactError, match="no artifact here"):
        xtc.load(tmp_path)
