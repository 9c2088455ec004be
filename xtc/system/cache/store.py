# SPDX-License-Identifier: Apache-2.0
"""The cache: entries looked up, published by one rename, and dropped when they are too many.

A killed process leaves at most a folder that a later one removes. A cache that cannot be used
causes one warning and misses, never an error.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from xtc.system.cache import usage
from xtc.system.cache.cache_folder import CacheFolder, warn_once
from xtc.system.cache.entry import (
    BadEntryError,
    UnreadableEntryError,
    read_entry,
    sync_folder,
    write_entry,
)
from xtc.system.cache.key import cache_key, is_key
from xtc.system.workspace import sweep

_log = logging.getLogger(__name__)

DEFAULT_LIMIT = 2 << 30
_LOST_RACE = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


@dataclass(frozen=True)
class Entry:
    """One entry.

    Attributes:
        key: its key in the cache.
        folder: the folder of its files.
        size: bytes on disk, in whole pages.
        used: when it was published or last hit, in seconds since the epoch.
    """

    key: str
    folder: Path
    size: int
    used: float


@dataclass(frozen=True)
class Removed:
    """The number of removed entries, and their bytes on disk."""

    count: int
    size: int


@dataclass(frozen=True)
class ArtifactCache:
    """Folders of files by key, below `root`, which is made with mode 0700.

    When the entries exceed `limit_bytes`, the least recently used ones are removed. Any number of
    processes and threads may use one cache; none waits for another.
    """

    root: Path
    limit_bytes: int = DEFAULT_LIMIT

    @staticmethod
    def key(parts: Mapping[str, str | bytes]) -> str:
        """The key of an entry that is built from these named parts."""
        return cache_key(parts)

    def lookup(self, key: str) -> Path | None:
        """The folder of an entry whose every file was checked, or None.

        It may be dropped at any time by another process; `fetch` gives a copy that stays.
        """
        return self._entry_path(key) if self._read(key, None) else None

    def fetch(self, key: str, into: Path) -> bool:
        """Copy an entry's files, checked, to the folder `into`; False if there is no entry.

        A damaged or foreign entry is removed and treated as missing. Raises OSError if `into`
        cannot be written.
        """
        return self._read(key, into)

    def publish(
        self, key: str, folder: Path, known: Mapping[str, str] = MappingProxyType({})
    ) -> bool:
        """Keep a copy of the files in `folder` under `key`; True if the entry exists afterwards.

        `known` has the SHA-256 of unmodified files. The entry appears atomically, by a rename; an
        entry that another process published first stays.
        """
        path = self._entry_path(key)
        try:
            self._folder.prepare()
            if not path.is_dir() and self._publish_copy(folder, path, known):
                self._count(path)
            return path.is_dir()
        except OSError as error:
            warn_once(self.root, "write to", error)
            return False

    def entries(self) -> list[Entry]:
        """All entries, the most recently used first. Raises OSError if the cache cannot be used."""
        if not os.path.lexists(self.root):
            return []
        self._folder.prepare()
        found = []
        for path in self._folder.entries.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if is_key(path.name):
                    used = path.lstat().st_mtime
                    found.append(Entry(path.name, path, usage.folder_size(path), used))
        return sorted(found, key=lambda entry: (-entry.used, entry.key))

    def prune(self, limit_bytes: int | None = None, older_than: float | None = None) -> Removed:
        """Drop entries unused for `older_than` seconds, then the longest unused beyond the limit.

        Also removes leftovers of killed processes. Raises OSError if the cache cannot be used.
        """
        entries = self.entries()
        limit = self.limit_bytes if limit_bytes is None else limit_bytes
        oldest = time.time() - older_than if older_than is not None else 0.0
        useless = _surplus(entries, limit, oldest)
        removed = self._drop_all(useless)
        self._recount(sum(entry.size for entry in entries) - removed.size)
        return removed

    def clear(self) -> Removed:
        """Drop every entry and leftovers of killed processes. Raises OSError like `prune`."""
        removed = self._drop_all(self.entries())
        self._recount(0)
        return removed

    @property
    def _folder(self) -> CacheFolder:
        return CacheFolder(self.root)

    def _entry_path(self, key: str) -> Path:
        if not is_key(key):
            raise ValueError(f"{key!r} is not a key")
        return self._folder.entries / key

    @contextlib.contextmanager
    def _temporary(self) -> Iterator[Path]:
        with self._folder.workspace.folder() as folder:
            yield Path(folder)

    def _read(self, key: str, into: Path | None) -> bool:
        path = self._entry_path(key)
        if not self._readable():
            return False
        try:
            return read_entry(path, key, into)
        except BadEntryError as error:
            if self._drop(path):
                _log.warning("removed a damaged entry of the artifact cache: %s: %s", path, error)
        except UnreadableEntryError as error:
            warn_once(self.root, "read", error.cause)
        return False

    def _readable(self) -> bool:
        """Whether the cache exists and may be read; warns if it exists but must not be read."""
        if not os.path.lexists(self.root):
            return False
        try:
            self._folder.prepare()
        except OSError as error:
            warn_once(self.root, "use", error)
            return False
        return True

    def _publish_copy(self, folder: Path, path: Path, known: Mapping[str, str]) -> bool:
        """Publish a sealed copy of `folder`; False if one exists, or it is too large."""
        with self._temporary() as temporary:
            new = temporary / "entry"
            new.mkdir(mode=0o700)
            write_entry(folder, new, path.name, known)
            if usage.folder_size(new) > self._size_after_pruning:
                _log.info("%s is larger than the limit of the artifact cache", folder)
                return False
            try:
                new.rename(path)
            except OSError as error:
                if error.errno in _LOST_RACE:
                    return False
                raise
        sync_folder(path.parent)
        return True

    @property
    def _size_after_pruning(self) -> int:
        """The size after pruning: a tenth below the limit, so that pruning is rare."""
        return self.limit_bytes - self.limit_bytes // 10

    def _count(self, path: Path) -> None:
        usage.add(self.root, usage.folder_size(path))
        if usage.estimate(self.root) > self.limit_bytes:
            self.prune(self._size_after_pruning)

    def _recount(self, size: int) -> None:
        if not self.root.is_dir():
            return
        sweep(self._folder.workspace.root)
        with self._temporary() as temporary:
            usage.reset(self.root, size, temporary / "usage")

    def _drop_all(self, entries: Iterable[Entry]) -> Removed:
        sizes = [entry.size for entry in entries if self._drop(entry.folder)]
        return Removed(len(sizes), sum(sizes))

    def _drop(self, path: Path) -> bool:
        """Remove an entry atomically by a rename; False if that failed."""
        try:
            with self._temporary() as temporary:
                path.rename(temporary / "entry")
        except FileNotFoundError:
            return False
        except OSError as error:
            warn_once(self.root, "remove an entry of", error)
            return False
        return True


def _surplus(entries: Iterable[Entry], limit: int, oldest: float) -> list[Entry]:
    """Entries to drop: those last used before `oldest`, and the oldest beyond `limit` bytes."""
    useless, total = [], 0
    for entry in entries:
        total += entry.size
        if entry.used < oldest or total > limit:
            useless.append(entry)
    return useless
