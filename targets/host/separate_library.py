# SPDX-License-Identifier: Apache-2.0
"""Loads a shared library with separate variables, even if the same file is already loaded.

The system's loader returns the first load of a file for a second one. Modules may share a cached
file, so a second module of a process loads a copy.
"""

from __future__ import annotations

import _ctypes
import ctypes
import shutil
import threading
from pathlib import Path

from xtc.system.workspace import private_folder

_loaded: set[tuple[int, int]] = set()
"""Device and inode numbers of the loaded files."""
_guard = threading.Lock()


class SeparateLibrary(ctypes.CDLL):
    """The library at `path`, or a copy of it. Raises OSError if it cannot be loaded."""

    def __init__(self, path: Path) -> None:
        info = path.stat()
        self._file: tuple[int, int] | None = (info.st_dev, info.st_ino)
        with _guard:
            if self._file not in _loaded:
                super().__init__(str(path))
                _loaded.add(self._file)
                return
        self._file = None
        with private_folder("copy-") as folder:  # a loaded file stays mapped after it is deleted
            super().__init__(str(shutil.copy(path, folder)))

    def close(self) -> None:
        """Unmap the code, which must not be used afterwards."""
        with _guard:
            _ctypes.dlclose(self._handle)
            if self._file is not None:
                _loaded.discard(self._file)
