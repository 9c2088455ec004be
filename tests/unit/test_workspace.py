# SPDX-License-Identifier: Apache-2.0
"""Temporary folders: live processes keep theirs, those of killed processes are removed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from xtc.system.workspace import Workspace, private_folder, sweep

_HOLDER = """
import sys
from pathlib import Path
from xtc.system.workspace import Workspace
held = Workspace(Path(sys.argv[1])).folder("held-")
Path(held.name, "file").touch()
print(held.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process, and its temporary folder in tmp_path; it ends when its input does."""
    command = [sys.executable, "-c", _HOLDER, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


@pytest.mark.slow
def test_a_living_process_keeps_its_folder(
    holder: tuple[subprocess.Popen[str], Path], tmp_path: Path
) -> None:
    process, folder = holder
    sweep(tmp_path)
    assert (folder / "file").exists()
    process.communicate()
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_killed_process_loses_its_folder(
    holder: tuple[subprocess.Popen[str], Path], tmp_path: Path
) -> None:
    process, folder = holder
    process.kill()
    process.wait()
    assert (folder / "file").exists()
    with Workspace(tmp_path).folder() as mine:
        assert not folder.exists()
        assert Path(mine).parent.parent == tmp_path
        assert len(list(tmp_path.iterdir())) == 2  # this process's folder and lock


def test_folders_with_other_names_are_untouched(tmp_path: Path) -> None:
    for name in ("notes", "123-notes", "123-abcdef0", "x-0123abcd", "123-0123abcd.txt"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes.lock").touch()
    (tmp_path / "123-0123abcd").mkdir()  # of a process that was killed
    sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == 6
    assert not (tmp_path / "123-0123abcd").exists()
    sweep(tmp_path / "nowhere")


@pytest.mark.parametrize("what", ["folder", "lock", "both"])
def test_a_claim_removed_by_a_cleaner_is_recreated(tmp_path: Path, what: str) -> None:
    workspace = Workspace(tmp_path)
    with workspace.folder() as first:
        claim = Path(first).parent
        if what != "lock":
            shutil.rmtree(claim)
        if what != "folder":
            claim.with_name(f"{claim.name}.lock").unlink()
        with workspace.folder() as second:
            assert Path(second).is_dir()
            assert Path(second).parent != claim
        assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.slow
def test_a_forked_child_has_a_separate_folder(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from xtc.system.workspace import Workspace\n"
        "workspace = Workspace(Path(sys.argv[1])); mine = workspace.folder()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    inner = workspace.folder()\n"
        "    os._exit(Path(inner.name).parent == Path(mine.name).parent)\n"
        "assert os.waitpid(pid, 0)[1] == 0; print(Path(mine.name).is_dir())\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"
    sweep(tmp_path)  # the child ended without cleaning up, like forked workers
    assert list(tmp_path.iterdir()) == []


def test_a_private_folder_is_in_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with private_folder("module-") as name:
        own = tmp_path / f"xtc-{os.geteuid()}"
        assert Path(name).parent.parent == own
        assert own.stat().st_mode & 0o777 == 0o700
    assert not Path(name).exists()


@pytest.mark.parametrize("what", ["link", "file", "open to others"])
def test_a_foreign_folder_in_its_place_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    own, elsewhere = tmp_path / f"xtc-{os.geteuid()}", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if what == "link":
        own.symlink_to(elsewhere)
    elif what == "file":
        own.touch()
    else:
        own.mkdir()
        own.chmod(0o777)
    with private_folder("module-") as name:
        assert Path(name).parent == tmp_path
        assert Path(name).stat().st_mode & 0o777 == 0o700
    assert list(elsewhere.iterdir()) == []


@pytest.mark.slow
def test_an_interrupt_removes_the_folder(
    holder: tuple[subprocess.Popen[str], Path], tmp_path: Path
) -> None:
    process, _ = holder
    process.send_signal(signal.SIGINT)
    process.wait()
    assert list(tmp_path.iterdir()) == []
