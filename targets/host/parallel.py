# SPDX-License-Identifier: Apache-2.0
"""The pool of threads behind parallel loops: its library, built once, and who uses it.

The library is built when the first module with parallel loops is, and travels with it. A process
loads it once and never unloads it; its threads end when the last module that uses it is closed.
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

from xtc.core.llvm import Machine, compile_shared
from xtc_targets.host.passes.dispatch_parallel_calls import TABLE

if TYPE_CHECKING:
    from xtc.core.mlir import Operation

LIBRARY = "parallel.so"
_SOURCE = Path(__file__).parent / "csrc" / "parallel.c"


def has_parallel_loops(lowered: Operation) -> bool:
    """Whether a module in the llvm dialect runs loops by the table of dispatch-parallel-calls."""
    from xtc.core.mlir import StringAttr

    return any(
        "sym_name" in op.attributes and StringAttr(op.attributes["sym_name"]).value == TABLE
        for op in lowered.regions[0].blocks[0].operations
    )


@functools.lru_cache(maxsize=4)
def library(machine: Machine) -> bytes:
    """The shared library, by the C compiler. Raises ToolError where that is missing or fails."""
    with tempfile.TemporaryDirectory(prefix="xtc-") as folder:
        path = Path(folder, LIBRARY)
        compile_shared([_SOURCE], path, machine, flags=("-std=c11", "-O2", "-pthread"))
        return path.read_bytes()


class _Table(ctypes.Structure):
    """`struct xtc_parallel` of csrc/parallel.h."""

    _fields_ = (("run", ctypes.c_void_p), ("threads", ctypes.c_int64))


@dataclass(eq=False)
class Pool:
    """One loaded library with its threads, and how many modules use it."""

    library: ctypes.CDLL
    users: int = 0

    def attach(self, table: int, threads: int) -> None:
        """Let the module whose table is at this address run its loops here, until `detach`."""
        with _guard:
            self.users += 1
        entry = _Table.from_address(table)
        entry.run = ctypes.cast(self.library.xtc_parallel_run, ctypes.c_void_p).value
        entry.threads = threads

    def detach(self) -> None:
        """A module that was attached is gone; the last one takes the threads with it."""
        with _guard:
            self.users -= 1
            if self.users == 0:
                self.library.xtc_parallel_stop()


_guard = threading.Lock()
_pools: dict[str, Pool] = {}


def pool(path: Path) -> Pool:
    """The pool of a library, loaded where no library of the same content is. Raises OSError."""
    return _pool(path.read_bytes(), path)


def pool_from_memory(content: bytes) -> Pool:
    """The same for a library that is in no file yet."""
    with tempfile.TemporaryDirectory(prefix="xtc-") as folder:
        path = Path(folder, LIBRARY)
        path.write_bytes(content)
        return _pool(content, path)


def _pool(content: bytes, path: Path) -> Pool:
    key = hashlib.sha256(content).hexdigest()
    with _guard:
        if key not in _pools:
            _pools[key] = Pool(ctypes.CDLL(str(path)))
        return _pools[key]
