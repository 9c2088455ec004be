# SPDX-License-Identifier: Apache-2.0
"""Builds the thread pool library from `csrc/parallel.c` for the first parallel loop."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine, compile_shared, linker_version
from xtc.core import knobs
from xtc.system.cache import cache_key, configured_cache
from xtc.system.workspace import private_folder

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

VARIABLE = "xtc.pool"
"""The symbol of a module's `struct xtc_parallel`, through which parallel loops reach the pool; no
graph can have such a name."""
LIBRARY = "parallel.so"
"""The file name of the library beside a module."""
VERSION = "parallel_runtime"
"""The key in a manifest's toolchain for the result of `version`."""

_SOURCES = tuple(Path(__file__).parent / "csrc" / name for name in ("parallel.c", "parallel.h"))
_FLAGS = ("-std=c11", "-O2", "-pthread")


def has_parallel_loops(lowered: Operation) -> bool:
    """Whether a module in the llvm dialect has the table of dispatch-parallel-calls."""
    from xtc.ir.mlir import StringAttr

    return any(
        "sym_name" in op.attributes and StringAttr(op.attributes["sym_name"]).value == VARIABLE
        for op in lowered.regions[0].blocks[0].operations
    )


def files(machine: Machine) -> dict[str, bytes]:
    """The additional file that a module needs: the library, or its source for another machine.

    Raises ToolError if the C compiler is missing or fails.
    """
    if machine.is_host:
        return {LIBRARY: built()}
    return {path.name: path.read_bytes() for path in _SOURCES}


@functools.lru_cache(maxsize=1)
def version() -> str:
    """SHA-256 of the source: modules with the same version can share one library."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()


@functools.lru_cache(maxsize=1)
def built() -> bytes:
    """The library for this machine, from the cache or the C compiler. Raises ToolError."""
    cache = configured_cache() if knobs.CACHE.get() else None
    parts = {"source": version(), "flags": " ".join(_FLAGS), "compiler": linker_version()}
    key = cache_key({"what": LIBRARY, "machine": Machine.host().triple, **parts})
    with private_folder("parallel-") as name:
        folder = Path(name)
        library = folder / LIBRARY
        if cache is None or not cache.fetch(key, folder):
            compile_shared(_SOURCES[:1], library, Machine.host(), flags=_FLAGS)
            if cache is not None:
                cache.publish(key, folder)
        return library.read_bytes()
