# SPDX-License-Identifier: Apache-2.0
"""A hash of the compiler's code, so that a changed pass or emitter invalidates cached artifacts.

It must be the hash of the code that this process runs: files that changed after the process started
have no fingerprint.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_STARTED = time.time_ns()


class NoFingerprintError(Exception):
    """A package's code is not in files, or its files changed after the process started."""


class _File(NamedTuple):
    """A file of a package, and the fields of its inode that a write changes (times in ns)."""

    name: str
    path: str
    inode: int
    size: int
    modified: int
    changed: int


@dataclass(frozen=True)
class CodeFingerprint:
    """The contents of the files of some packages.

    Attributes:
        digest: SHA-256 of their names and contents.
    """

    digest: str
    _packages: tuple[str, ...]
    _files: tuple[_File, ...]

    def unchanged(self) -> bool:
        """Whether the files are still those that were hashed; looks at no content."""
        try:
            return _files(self._packages) == self._files
        except (OSError, NoFingerprintError):
            return False


_known: dict[tuple[str, ...], CodeFingerprint] = {}
_guard = threading.Lock()


def code_fingerprint(packages: Collection[str]) -> CodeFingerprint:
    """The fingerprint of top-level packages and modules, computed once in a process.

    All files of a package count, C sources as well. Raises NoFingerprintError if the code that
    runs is not known to be that of the files.
    """
    names = tuple(sorted(set(packages)))
    with _guard:
        if names not in _known:
            _known[names] = _fingerprint(names)
        return _known[names]


def _fingerprint(packages: tuple[str, ...]) -> CodeFingerprint:
    digest = hashlib.sha256()
    try:
        files = _files(packages)
        for file in files:
            if file.changed > _STARTED:
                raise NoFingerprintError(f"{file.path} changed after this process began")
            content = _content(file)
            digest.update(b"%d %s\n%s" % (len(content), file.name.encode(), content))
    except OSError as error:
        raise NoFingerprintError(f"the code cannot be read: {error}") from None
    return CodeFingerprint(digest.hexdigest(), packages, files)


def _content(file: _File) -> bytes:
    """The content of a file, by few system calls, because there are many small files."""
    descriptor = os.open(file.path, os.O_RDONLY)
    try:
        content = os.read(descriptor, file.size + 1)
    finally:
        os.close(descriptor)
    if len(content) != file.size:
        raise NoFingerprintError(f"{file.path} changed while it was read")
    return content


def _files(packages: tuple[str, ...]) -> tuple[_File, ...]:
    found: list[_File] = []
    for package in packages:
        for root in _roots(package):
            _add_files(root, package, found)
    return tuple(sorted(found))


def _roots(package: str) -> list[str]:
    """The folders of a package, or the one file of a module."""
    module = sys.modules.get(package)
    if module is not None:
        folders, file = getattr(module, "__path__", None), getattr(module, "__file__", None)
    else:
        spec = importlib.util.find_spec(package)
        folders, file = (spec.submodule_search_locations, spec.origin) if spec else (None, None)
    roots = list(folders) if folders is not None else [file] if file else []
    if not roots:
        raise NoFingerprintError(f"the code of '{package}' is in no file")
    return roots


def _add_files(root: str, name: str, found: list[_File]) -> None:
    if not Path(root).is_dir():
        found.append(_stamped(name, root, Path(root).stat()))
        return
    folders = [(root, name)]
    for folder, prefix in folders:
        with os.scandir(folder) as entries:
            for entry in filter(_is_code, entries):
                inner = f"{prefix}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, inner))
                else:
                    found.append(_stamped(inner, entry.path, entry.stat()))


def _is_code(entry: os.DirEntry[str]) -> bool:
    """Whether a file is code, not a by-product of Python or an editor."""
    name = entry.name
    return not (name.startswith((".", "#")) or name == "__pycache__" or name.endswith("~"))


def _stamped(name: str, path: str, info: os.stat_result) -> _File:
    return _File(name, path, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
