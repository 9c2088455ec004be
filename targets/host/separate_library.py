# SPDX-License-Identifier: Apache-2.0
"""A shared library whose variables no other load of the same file shares.

The system's loader takes a second load of one file for the first. A library from the cache is the
same file in every module that has it, so a second module of a process loads a copy.
"""

from __future__ import annotations

import _ctypes
import ctypes
import shutil
import threading
from pathlib import Path

from xtc.system.workspace import private_folder

_loaded: set[tuple[int, int]] = set()
"""Device and inode numbers of the files that are loaded."""
_guard = threading.Lock()


class SeparateLibrary(ctypes.CDLL):
    """The library at `path`, or a copy of it. Raises OSError where it cannot be loaded."""

    def __init__(self, path: Path) -> None:
        info = path.stat()
        self._file: tuple[int, int] | None = (info.st_dev, info.st_ino)
        with _guard:
            if self._file not in _loaded:
                super().__init__(str(path))
                _loaded.add(self._file)
                return
        self._file = None
        with private_folder("copy-") as folder:  # what is loaded stays mapped without a name
            super().__init__(str(shutil.copy(path, folder)))

    def close(self) -> None:
        """Unmap the code; nothing of it may be used afterwards."""
        with _guard:
            _ctypes.dlclose(self._handle)
            if self._file is not None:
                _loaded.discard(self._file)
