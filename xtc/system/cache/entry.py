# SPDX-License-Identifier: Apache-2.0
"""A cache entry on disk: files, and a seal with their hashes, which detects damage.

The seal's first line is the hash of the rest, which is JSON: the key, and for each file its hash,
size and executable flag. The reader does not trust links, other users' files, or sizes.

Large files, such as libraries with the weights of a network, are not copied or read again if
possible: they are hard-linked to where they are used, and the seal has their stamp. A file with an
unchanged stamp was not modified; otherwise it is read and hashed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from xtc.system.ownership import foreign_reason

SEAL_FILE = "SEAL"
LARGE = 4 << 20
"""The smallest file in bytes that is hard-linked and recognized by its stamp."""
_CHUNK = 1 << 20
_MAX_SEAL = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Errors of a disk that is unreadable or has other contents than were written.
_DAMAGE = (
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO),
    *(errno.EACCES, errno.EPERM, errno.EIO),
)


class BadEntryError(Exception):
    """The entry differs from the published one; the text gives the difference."""


class UnreadableEntryError(Exception):
    """The entry could not be read, for a possibly transient reason (its `cause`)."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(frozen=True)
class SealedFile:
    """The seal of one file; `sha256` in hexadecimal, `size` in bytes.

    `stamp`: inode number and time of the last change in nanoseconds; empty for a small file.
    """

    sha256: str
    size: int
    executable: bool
    stamp: Sequence[int] = ()


def write_entry(
    source: Path, folder: Path, key: str, known: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Copy the files in `source` to the empty `folder`, seal them, and sync them to disk.

    `known` has the SHA-256 of files by name, so that large ones need not be read. Large files that
    only this user can write become read-only and are hard-linked into both folders. Raises OSError,
    also for folders and links, which an entry cannot contain.
    """
    files = {}
    for path in sorted(source.iterdir()):
        if not stat.S_ISREG(path.lstat().st_mode) or path.name == SEAL_FILE:
            raise OSError(errno.EINVAL, "an entry cannot hold this", str(path))
        with _opened(path, _READ) as content:
            new = folder / path.name
            files[path.name] = _linked_or_copied(content, path, new, known.get(path.name))
    with _opened(folder / SEAL_FILE, _NEW, 0o400) as seal:
        _write(seal, _seal_text(key, files))
        os.fsync(seal)
    sync_folder(folder)


def read_entry(folder: Path, key: str, into: Path | None) -> bool:
    """Check every file of an entry and copy it to the folder `into`, where one is given.

    What is copied is what was checked, and stays there whatever is removed. Large files get a
    second name instead where the file system allows it. Returns False
    if there is no entry. Raises BadEntryError if it is not whole and ours,
    UnreadableEntryError, and OSError where `into` cannot be written; then the copies are removed.
    """
    if not os.path.lexists(folder):
        return False
    with _entry_folder(folder) as descriptor:
        copied: list[Path] = []
        try:
            files = _read_seal(descriptor, key)
            present = set(os.listdir(descriptor))  # noqa: PTH208  a descriptor, not a path
            if present != {SEAL_FILE, *files}:
                raise BadEntryError(f"it holds {sorted(present)}")
            for name, sealed in files.items():
                copy = into / name if into is not None else None
                copied += [copy] if copy is not None else []
                _check_file(descriptor, name, sealed, copy)
        except BaseException:
            for path in copied:
                path.unlink(missing_ok=True)
            raise
        with contextlib.suppress(OSError):  # a disk that cannot be written keeps no order of use
            os.utime(descriptor)
    return True


def sync_folder(folder: Path) -> None:
    """Sync a folder's directory entries to disk."""
    with _opened(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as descriptor:
        os.fsync(descriptor)


@contextlib.contextmanager
def _entry_folder(folder: Path) -> Iterator[int]:
    try:
        descriptor = os.open(folder, _READ | os.O_DIRECTORY)
    except OSError as error:
        raise _classified(error) from None
    try:
        reason = foreign_reason(os.fstat(descriptor))
        if reason is not None:
            raise BadEntryError(reason)
        yield descriptor
    finally:
        os.close(descriptor)


def _read_seal(folder: int, key: str) -> Mapping[str, SealedFile]:
    with _entry_file(folder, SEAL_FILE) as (descriptor, info):
        if info.st_size > _MAX_SEAL:
            raise BadEntryError(f"its seal has {info.st_size} bytes")
        text = _read_all(descriptor)
    digest, _, rest = text.partition(b"\n")
    if digest != hashlib.sha256(rest).hexdigest().encode():
        raise BadEntryError("its seal is damaged")
    try:
        content = json.loads(rest)
        if content["key"] != key:
            raise BadEntryError(f"it is the entry of {content['key']}")
        return {name: SealedFile(**file) for name, file in content["files"].items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadEntryError(f"its seal is of another form: {error}") from None


def _seal_text(key: str, files: Mapping[str, SealedFile]) -> bytes:
    content = {"key": key, "files": {name: asdict(file) for name, file in files.items()}}
    rest = json.dumps(content, sort_keys=True).encode()
    return hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def _linked_or_copied(content: int, path: Path, new: Path, known: str | None) -> SealedFile:
    """Link or copy the file `path`, which is open as `content`, to `new`, and hash it.

    A `known` hash is used if the file is linked.
    """
    info = os.fstat(content)
    executable = bool(info.st_mode & stat.S_IXUSR)
    mode = 0o500 if executable else 0o400
    shared = info.st_size >= LARGE and foreign_reason(info) is None and _linked(path, new, info)
    with _opened(new, _READ if shared else _NEW, mode) as kept:
        if shared:
            os.fchmod(kept, mode)
        if shared and known is not None:
            sha256, size = known, info.st_size
        else:
            sha256, size = _copy(content, None if shared else kept)
        os.fsync(kept)
        stamp = _stamp(os.fstat(kept))
    return SealedFile(sha256, size, executable, stamp)


def _stamp(info: os.stat_result) -> tuple[int, ...]:
    """The stamp of a large file; empty for a small one, which is read each time."""
    return (info.st_ino, info.st_mtime_ns) if info.st_size >= LARGE else ()


def _linked(path: Path | str, new: Path, info: os.stat_result, folder: int | None = None) -> bool:
    """Whether `new` is now a hard link to the file that `info` describes, besides `path`."""
    try:
        os.link(path, new, src_dir_fd=folder, follow_symlinks=False)
    except OSError:  # on another file system, or one without hard links
        return False
    if os.path.samestat(os.lstat(new), info):
        return True
    new.unlink()  # another process replaced the file
    return False


def _check_file(folder: int, name: str, sealed: SealedFile, copy: Path | None) -> None:
    with _entry_file(folder, name) as (descriptor, info), contextlib.ExitStack() as stack:
        if info.st_size != sealed.size:
            raise BadEntryError(f"'{name}' has {info.st_size} bytes instead of {sealed.size}")
        known = sealed.stamp and tuple(sealed.stamp) == _stamp(info)
        if known and (copy is None or _linked(name, copy, info, folder)):
            return
        target = None
        if copy is not None:
            mode = 0o777 if sealed.executable else 0o666
            target = stack.enter_context(_opened(copy, _NEW, mode))
        sha256, size = _copy(descriptor, target)
        if (sha256, size) != (sealed.sha256, sealed.size):
            raise BadEntryError(f"'{name}' is damaged")


@contextlib.contextmanager
def _entry_file(folder: int, name: str) -> Iterator[tuple[int, os.stat_result]]:
    """Open a regular file of an entry that only this user can write.

    Small files must have no other hard link, because they are only used as copies.
    """
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except OSError as error:
        raise _classified(error) from None
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise BadEntryError(f"'{name}' is not a regular file")
        if info.st_nlink != 1 and info.st_size < LARGE:
            raise BadEntryError(f"'{name}' is reachable under {info.st_nlink} names")
        reason = foreign_reason(info)
        if reason is not None:
            raise BadEntryError(f"'{name}': {reason}")
        yield descriptor, info
    finally:
        os.close(descriptor)


def _classified(error: OSError) -> BadEntryError | UnreadableEntryError:
    """Classifies a read error: damage, or a transient cause such as too many open files."""
    return BadEntryError(str(error)) if error.errno in _DAMAGE else UnreadableEntryError(error)


@contextlib.contextmanager
def _opened(path: Path, flags: int, mode: int = 0o600) -> Iterator[int]:
    descriptor = os.open(path, flags, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _copy(source: int, target: int | None) -> tuple[str, int]:
    """Copy `source` to `target`; returns SHA-256 and size."""
    digest, size = hashlib.sha256(), 0
    while chunk := _read_chunk(source):
        digest.update(chunk)
        size += len(chunk)
        if target is not None:
            _write(target, chunk)
    return digest.hexdigest(), size


def _read_chunk(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError as error:
        raise _classified(error) from None


def _read_all(descriptor: int) -> bytes:
    return b"".join(iter(lambda: _read_chunk(descriptor), b""))


def _write(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
