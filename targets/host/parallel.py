# SPDX-License-Identifier: Apache-2.0
"""The pool of threads behind parallel loops: its library, built once, and who uses it.

The library is built when the first module with parallel loops is, and travels with every one. A
process loads it once and for good; its threads end when the last module that uses it is closed.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.core.errors import ArtifactError
from xtc.core.llvm import Machine, compile_shared

if TYPE_CHECKING:
    from xtc.core.mlir import Operation

TABLE = "xtc.parallel"
"""The symbol of a module's `struct xtc_parallel`; no graph can have such a name."""
LIBRARY = "parallel.so"
VERSION = "parallel_runtime"
"""The key in a manifest's toolchain whose value identifies the library's source."""

_SOURCES = tuple(Path(__file__).parent / "csrc" / name for name in ("parallel.c", "parallel.h"))
_FLAGS = ("-std=c11", "-O2", "-pthread")


def has_parallel_loops(lowered: Operation) -> bool:
    """Whether a module in the llvm dialect runs loops by the table of dispatch-parallel-calls."""
    from xtc.core.mlir import StringAttr

    return any(
        "sym_name" in op.attributes and StringAttr(op.attributes["sym_name"]).value == TABLE
        for op in lowered.regions[0].blocks[0].operations
    )


def files(machine: Machine) -> dict[str, bytes]:
    """What a module needs beside it, by file name: the library; for another machine its source.

    Raises ToolError where the C compiler is missing or fails.
    """
    if machine.is_host:
        return {LIBRARY: _library(machine)}
    return {path.name: path.read_bytes() for path in _SOURCES}


@functools.lru_cache(maxsize=1)
def version() -> str:
    """SHA-256 of the library's source."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()


@functools.lru_cache(maxsize=4)
def _library(machine: Machine) -> bytes:
    with tempfile.TemporaryDirectory(prefix="xtc-") as folder:
        path = Path(folder, LIBRARY)
        compile_shared(_SOURCES[:1], path, machine, flags=_FLAGS)
        return path.read_bytes()


class _Table(ctypes.Structure):
    """`struct xtc_parallel` of csrc/parallel.h."""

    _fields_ = (("run", ctypes.c_void_p), ("threads", ctypes.c_int64))


@dataclass(eq=False)
class Pool:
    """A loaded library with its threads, and how many modules use it."""

    _library: ctypes.CDLL
    _users: int = 0

    def attach(self, table: int, threads: int) -> None:
        """Let the module whose table is at this address run its loops here, until `detach`."""
        with _guard:
            self._users += 1
        entry = _Table.from_address(table)
        entry.run = ctypes.cast(self._library.xtc_parallel_run, ctypes.c_void_p).value
        entry.threads = threads

    def detach(self) -> None:
        """A module that was attached is gone; the threads go with the last one."""
        with _guard:
            self._users -= 1
            if self._users == 0:
                self._library.xtc_parallel_stop()


_guard = threading.Lock()
_pools: dict[str, Pool] = {}


def pool(version: str, path: Path | None) -> Pool:
    """The process's pool of this version of the library.

    Args:
        version: what the module's manifest says under `VERSION`.
        path: the library beside the module; None for a module that was compiled to memory here.

    Raises ArtifactError where the library cannot be loaded.
    """
    with _guard:
        if version not in _pools:
            _pools[version] = Pool(_open(path) if path else _load_built())
        return _pools[version]


def _load_built() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="xtc-") as folder:
        path = Path(folder, LIBRARY)
        path.write_bytes(_library(Machine.host()))
        return _open(path)


def _open(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
        library.xtc_parallel_run.restype = library.xtc_parallel_stop.restype = None
    except (OSError, AttributeError) as error:
        raise ArtifactError(f"the library cannot be loaded: {error}", where=path) from None
    return library
