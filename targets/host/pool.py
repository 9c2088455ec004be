# SPDX-License-Identifier: Apache-2.0
"""The thread pool of this process for parallel loops.

A process loads the library once and never unloads it. The threads end when no module uses them.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xtc.core import knobs
from xtc.core.errors import ArtifactError
from xtc.interfaces.runtime import Piece
from xtc.system.workspace import private_folder
from xtc_targets.host import pool_library


class _Table(ctypes.Structure):
    """`struct xtc_parallel` of csrc/parallel.h."""

    _fields_ = (("run", ctypes.c_void_p), ("threads", ctypes.c_int64))


class _Piece(ctypes.Structure):
    """`struct xtc_parallel_part`."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("thread", "begin", "end"))


_PIECES = 65_536  # most pieces that a recording can hold


@dataclass(eq=False)
class Pool:
    """A loaded library with its threads and the number of modules that use it."""

    _library: ctypes.CDLL
    _users: int = 0
    _room: ctypes.Array[_Piece] | None = None

    def attach(self, table: int, threads: int) -> None:
        """Run the loops of the module whose table is at this address in the pool, until `detach`.

        Raises UserError for an invalid XTC_SPIN_US.
        """
        with _guard:
            self._users += 1
        self._library.xtc_parallel_spin(ctypes.c_int64(knobs.SPIN.get()))
        entry = _Table.from_address(table)
        entry.run = ctypes.cast(self._library.xtc_parallel_run, ctypes.c_void_p).value
        entry.threads = threads

    def pieces(self, call: Callable[[], None]) -> list[Piece]:
        """The parts of parallel loops, of any module, that threads compute during a call."""
        with _recording:
            if self._room is None:  # allocated once: fresh memory costs time and cache space
                self._room = (_Piece * _PIECES)()
            found = self._room
            self._library.xtc_parallel_record(found, ctypes.c_int64(_PIECES))
            try:
                call()
            finally:
                count = self._library.xtc_parallel_record(None, ctypes.c_int64(0))
            return [Piece(piece.thread, piece.begin, piece.end) for piece in found[:count]]

    def detach(self) -> None:
        """Detach a module; the threads end with the last one."""
        with _guard:
            self._users -= 1
            if self._users == 0:
                self._library.xtc_parallel_stop()


_guard = threading.Lock()
_recording = threading.Lock()
_pools: dict[str, Pool] = {}


def pool(version: str, path: Path | None) -> Pool:
    """The process's pool for this version of the library.

    Args:
        version: the version in the module's manifest.
        path: the library beside the module; None for a module that was compiled to memory here.

    Raises ArtifactError if the library cannot be loaded.
    """
    with _guard:
        if version not in _pools:
            _pools[version] = Pool(_open(path) if path else _open_built())
        return _pools[version]


def _open_built() -> ctypes.CDLL:
    with private_folder("parallel-") as folder:
        path = Path(folder, pool_library.LIBRARY)
        path.write_bytes(pool_library.built())
        return _open(path)


def _open(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
        for name in ("run", "spin", "stop"):
            getattr(library, f"xtc_parallel_{name}").restype = None
        library.xtc_parallel_record.restype = ctypes.c_int64
    except (OSError, AttributeError) as error:
        raise ArtifactError(f"the library cannot be loaded: {error}", where=path) from None
    return library
