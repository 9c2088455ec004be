# SPDX-License-Identifier: Apache-2.0
"""Temporary folders that a killed process does not leave behind for ever.

A process keeps its temporary folders in a private folder, beside a lock file that it holds
locked. The system drops the lock when the process ends, however it ends; a later process that gets
the lock removes the folder.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import logging
import os
import re
import secrets
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from xtc.system.ownership import make_private

_log = logging.getLogger(__name__)

_NAME = re.compile(r"\d+-[0-9a-f]{8}")  # process id, random
_LOCK = ".lock"
_ATTEMPTS = 100


@dataclass(frozen=True)
class _Claim:
    """The folder of one process, its to use as long as it holds the lock on `descriptor`."""

    folder: Path
    descriptor: int

    @property
    def lock(self) -> Path:
        return self.folder.with_name(self.folder.name + _LOCK)

    def holds(self) -> bool:
        """False if something, such as a cleaner of old files, removed folder or lock."""
        return _is_at(self.descriptor, self.lock) and self.folder.is_dir()

    def release(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.lock.unlink()
        os.close(self.descriptor)


_claims: dict[Path, _Claim] = {}
_guard = threading.Lock()


@dataclass(frozen=True)
class Workspace:
    """Temporary folders of this process below `root`, which must be the user's own."""

    root: Path

    def folder(self, prefix: str = "") -> tempfile.TemporaryDirectory[str]:
        """A new, empty folder for the caller alone. Raises OSError if it cannot be made."""
        with _guard:
            claim = _claims.get(self.root)
            if claim is None or not claim.holds():
                claim = self._claim(claim)
            os.utime(claim.descriptor)  # in use: nothing for a cleaner of old files
        return tempfile.TemporaryDirectory(prefix=prefix, dir=claim.folder)

    def _claim(self, lost: _Claim | None) -> _Claim:
        if lost is not None:
            os.close(_claims.pop(self.root).descriptor)
        sweep(self.root)
        return _claims.setdefault(self.root, _claim_folder(self.root))


def private_folder(prefix: str = "") -> tempfile.TemporaryDirectory[str]:
    """A new temporary folder of this process in the system's folder for such."""
    root = Path(tempfile.gettempdir(), f"xtc-{os.geteuid()}")
    try:
        make_private(root, follow=False)
        return Workspace(root).folder(prefix)
    except OSError as error:
        _log.info("not using %s for temporary files: %s", root, error)
        return tempfile.TemporaryDirectory(prefix=f"xtc-{prefix}")


def sweep(root: Path) -> None:
    """Remove what processes that are gone left below `root`."""
    try:
        names = [path.name for path in root.iterdir()]
    except FileNotFoundError:
        return
    for name in names:
        owner = name.removesuffix(_LOCK)
        if _NAME.fullmatch(owner) is None:
            continue
        lock = root / f"{owner}{_LOCK}"
        if name != owner:
            _sweep_unlocked(root / owner, lock)
        elif not lock.exists():  # a lock is there before its folder and goes after it
            shutil.rmtree(root / owner, ignore_errors=True)


def _sweep_unlocked(folder: Path, lock: Path) -> None:
    with contextlib.suppress(OSError):  # locked, or another process sweeps as well
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, lock):
                shutil.rmtree(folder, ignore_errors=True)
                lock.unlink()
        finally:
            os.close(descriptor)


def _claim_folder(root: Path) -> _Claim:
    for _ in range(_ATTEMPTS):
        folder = root / f"{os.getpid()}-{secrets.token_hex(4)}"
        lock = folder.with_name(folder.name + _LOCK)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            if _lock_new(descriptor, lock):
                folder.mkdir(mode=0o700)
                return _Claim(folder, descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                lock.unlink()
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise BlockingIOError(f"other processes keep locking new files in {root}")


def _lock_new(descriptor: int, lock: Path) -> bool:
    """False if a sweeping process saw the new file before it was locked, and took it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return _is_at(descriptor, lock)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))
    except OSError:
        return False


def _release_all() -> None:
    while _claims:
        _claims.popitem()[1].release()


def _forget_parent() -> None:
    """After a fork: the claims are the parent's, and so must be the only holds on their locks."""
    global _guard
    _guard = threading.Lock()
    for claim in _claims.values():
        os.close(claim.descriptor)
    _claims.clear()


atexit.register(_release_all)
os.register_at_fork(after_in_child=_forget_parent)
