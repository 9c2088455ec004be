# SPDX-License-Identifier: Apache-2.0
"""Who could have written a file: what only this user can write is theirs, the rest is foreign."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def foreign_reason(info: os.stat_result, *, allow_root: bool = False) -> str | None:
    """Why another user may have written what `info` describes, None if none can have.

    With `allow_root` the administrator's files count as the user's own.
    """
    owners = (os.geteuid(), 0) if allow_root else (os.geteuid(),)
    if info.st_uid not in owners:
        return f"it belongs to user {info.st_uid}"
    if info.st_mode & _WRITABLE_BY_OTHERS:
        return f"others may write to it (mode {stat.S_IMODE(info.st_mode):04o})"
    return None


def make_private(folder: Path, *, follow: bool = True) -> None:
    """Make `folder` with mode 0700 where it is missing, and refuse one that is not this user's.

    A symbolic link in its place is refused unless `follow`. Raises OSError, a PermissionError
    where the folder is foreign.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    info = folder.stat(follow_symlinks=follow)
    if not stat.S_ISDIR(info.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "it is not a folder", str(folder))
    reason = foreign_reason(info)
    if reason is not None:
        raise PermissionError(errno.EPERM, reason, str(folder))
