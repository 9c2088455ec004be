# SPDX-License-Identifier: Apache-2.0
"""The folder of a cache: private, tagged, and refused if it belongs to someone else."""

from __future__ import annotations

import contextlib
import errno
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path

from xtc.system.ownership import make_private
from xtc.system.workspace import Workspace

TAG_FILE = "CACHEDIR.TAG"
# The signature is that of the Cache Directory Tagging Specification; backup programs know it.
_TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# This folder is a cache of xtc: its content can be removed at any time.
"""


class CacheWarning(UserWarning):
    """The artifact cache cannot be used; results are the same, but nothing is cached."""


@dataclass(frozen=True)
class CacheFolder:
    """A cache's folder and its subfolders."""

    root: Path

    @property
    def entries(self) -> Path:
        """The folder of the entries, each a folder named by its key."""
        return self.root / "entries"

    @property
    def workspace(self) -> Workspace:
        """The workspace for entries that are being written or removed."""
        return Workspace(self.root / "tmp")

    def prepare(self) -> None:
        """Create missing folders. Raises OSError if the folder cannot or must not be used."""
        make_private(self.root)
        self._tag()
        for folder in (self.entries, self.workspace.root):
            make_private(folder, follow=False)

    def _tag(self) -> None:
        """Tag a new folder; an untagged folder with other contents is user data, not a cache."""
        tag = self.root / TAG_FILE
        if tag.exists():
            return
        # The tag is written first, so a folder with contents but without a tag never had one.
        if any(self.root.iterdir()) and not tag.exists():
            message = f"it is neither empty nor marked as a cache by a file {TAG_FILE}"
            raise PermissionError(errno.EPERM, message, str(self.root))
        with contextlib.suppress(FileExistsError), tag.open("x") as file:
            file.write(_TAG)


_warned: set[Path] = set()
_guard = threading.Lock()


def warn_once(root: Path, doing: str, error: OSError) -> None:
    """Warn once per process and cache why it is not used."""
    with _guard:
        if root in _warned:
            return
        _warned.add(root)
    why = error.strerror or str(error)
    where = f" ({error.filename})" if error.filename else ""
    warnings.warn(
        f"cannot {doing} the artifact cache {root}: {why}{where}; continuing without it",
        CacheWarning,
        stacklevel=2,
    )
