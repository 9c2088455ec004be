# SPDX-License-Identifier: Apache-2.0
"""File ownership checks: a file is foreign if other users can write it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def foreign_reason(info: os.stat_result, *, allow_root: bool = False) -> str | None:
    """The reason why another user may have written the file of `info`; None if no other user can.

    With `allow_root` the administrator's files count as the user's own.
    """
    owners = (os.geteuid(), 0) if allow_root else (os.geteuid(),)
    if info.st_uid not in owners:
        return f"it belongs to user {info.st_uid}"
    if info.st_mode & _WRITABLE_BY_OTHERS:
        return f"others may write to it (mode {stat.S_IMODE(info.st_mode):04o})"
    return None


def make_private(folder: Path, *, follow: bool = True) -> None:
    """Create `folder` with mode 0700 if it is missing; refuse one that is not this user's.

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
