# SPDX-License-Identifier: Apache-2.0
"""How much a cache holds, known without looking at every entry.

A file grows by one byte for every page that is published; its size is the estimate. Appending needs
no lock; what a race loses or a removal leaves is put right when the entries are counted again.
"""

from __future__ import annotations

import os
from pathlib import Path

PAGE = 4096
"""Files take whole pages; sizes here are counted in them."""

_FILE = "usage"
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def pages(size: int) -> int:
    """Pages that `size` bytes take."""
    return -(-size // PAGE)


def folder_size(folder: Path) -> int:
    """Bytes that the files of a folder take, in whole pages; 0 if it is gone."""
    try:
        with os.scandir(folder) as found:
            return PAGE * sum(pages(entry.stat(follow_symlinks=False).st_size) for entry in found)
    except (FileNotFoundError, NotADirectoryError):
        return 0


def add(root: Path, size: int) -> None:
    """Count an entry of `size` bytes. Raises OSError, also for what is a link or no file."""
    descriptor = os.open(root / _FILE, _APPEND, 0o600)
    try:
        os.write(descriptor, bytes(pages(size)))
    finally:
        os.close(descriptor)


def estimate(root: Path) -> int:
    """Bytes in the cache, as far as is known."""
    try:
        return (root / _FILE).stat().st_size * PAGE
    except FileNotFoundError:
        return 0


def reset(root: Path, size: int, temporary: Path) -> None:
    """Set the estimate to a count; `temporary` is a path on the same disk, free to use."""
    with temporary.open("xb") as file:
        file.truncate(pages(size))  # a hole: takes no space itself
    temporary.replace(root / _FILE)
