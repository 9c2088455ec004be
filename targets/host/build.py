# SPDX-License-Identifier: Apache-2.0
"""Turns generated code into a shared library, object files, or objects in memory.

Only code for this machine is linked. For another machine the user chooses the linker and the
libraries, so the artifact holds the object files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from xtc.codegen.llvm import (
    Constants,
    Machine,
    data_object,
    link_shared,
    linker_version,
    write_data_object,
)
from xtc.core.versions import toolchain_versions
from xtc.interfaces.artifact import MANIFEST_FILE, VECTOR_BITS, Artifact, Manifest, file_hash
from xtc.interfaces.target import BuildRequest
from xtc.ir.packed_constants import sizes_of
from xtc_targets.host import pool_library
from xtc_targets.host.threads import ALL, KEY

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

LIBRARY = "module.so"
CONSTANTS = "constants.o"
KERNELS = "kernels.json"
"""The file with the fields of `RecordedKernel` for each recorded call."""
STAMPS = "xtc.stamps"
"""The variable with the counts: one before the first kernel, and one after each kernel."""
WINDOW = "xtc.window"
"""The variable that selects the counts to write: the number of the first, and their number."""
CLOCKS = "xtc.clocks"
"""The function that writes a count, the monotonic clock in nanoseconds, and a count again."""
EXTERNALS = "external_objects"
"""The key in a manifest's toolchain with the number of objects that define external functions."""

RELEASE = "xtc.arenas.release"
"""The function of a module that frees its kept arenas."""
ARENAS = ("arena_bytes", "arena_least_bytes")
"""The keys of the sizes of a module's arenas: planned, and the lower bound."""


@dataclass(frozen=True)
class Code:
    """Generated machine code.

    Attributes:
        objects: the code as relocatable object files, a single one for another machine.
        returns_status: whether the entry returns an int, as `Manifest.returns_status` says.
        sources: texts that are kept beside the code, by file name.
        beside: files that parallel loops need to run on several threads: contents by name.
        externals: objects of external functions and their callers.
        constants: contents of constants by symbol; a separate object defines them.
        arenas: bytes of the arenas of temporary arrays, and the lower bound of any plan.
        vector_bits: width of its vectors; 0 if a C compiler chooses it.
    """

    objects: tuple[bytes, ...]
    returns_status: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, bytes] = field(default_factory=dict)
    externals: tuple[bytes, ...] = ()
    constants: Mapping[str, bytes | memoryview] = field(default_factory=dict)
    arenas: tuple[int, int] | None = None
    vector_bits: int = 0

    @property
    def versions(self) -> dict[str, str]:
        """Further entries for the manifest's toolchain."""
        parallel = {pool_library.VERSION: pool_library.version()} if self.beside else {}
        sizes = {} if self.arenas is None else dict(zip(ARENAS, map(str, self.arenas), strict=True))
        vectors = {VECTOR_BITS: str(self.vector_bits)} if self.vector_bits else {}
        return (
            parallel
            | sizes
            | vectors
            | ({EXTERNALS: str(len(self.externals))} if self.externals else {})
        )

    @property
    def linked(self) -> dict[str, bytes]:
        """The objects that hold code, by file name."""
        code = {f"module{n or ''}.o": content for n, content in enumerate(self.objects)}
        return code | {f"external{n}.o": content for n, content in enumerate(self.externals)}

    def in_memory(self, machine: Machine) -> tuple[bytes, ...]:
        """All objects, including the one with the constants."""
        constants = (data_object(self.constants, machine),) if self.constants else ()
        return (*self.linked.values(), *constants)


class Generator(Protocol):
    """Generates machine code from the lowered stage."""

    def generate(self, lowered: Operation, request: BuildRequest) -> Code:
        """The code as objects. Raises CompileError or ToolError."""

    def text(self, lowered: Operation, request: BuildRequest) -> str:
        """The code as readable text."""

    def toolchain(self) -> dict[str, str]:
        """The versions, the machine and the flags that determine the code."""


def toolchain(
    codegen: str, machine: Machine, opt_level: int, threads: int | None = 1
) -> dict[str, str]:
    """The toolchain entries that do not depend on the generator."""
    return {
        **toolchain_versions(),
        "codegen": codegen,
        "triple": machine.triple,
        "cpu": machine.cpu,
        "features": machine.features,
        "opt_level": str(opt_level),
        KEY: str(threads or ALL),
        "linker": linker_version(),
    }


def write_artifact(
    code: Code,
    request: BuildRequest,
    machine: Machine,
    versions: Mapping[str, str],
    folder: Path,
) -> Artifact:
    """Write `code` to `folder`, linked or as objects. Raises ToolError if the linker fails."""
    written = {name: text.encode() for name, text in code.sources.items()} | dict(code.beside)
    for name, content in written.items():
        (folder / name).write_bytes(content)
    names = [*written, *_write_code(code, machine, folder)]
    names += request.offload.files
    files = {name: file_hash(folder / name) for name in names}
    manifest = manifest_of(code, request, versions, files)
    (folder / MANIFEST_FILE).write_text(manifest.to_json())
    return Artifact(manifest, folder)


def _write_code(code: Code, machine: Machine, folder: Path) -> tuple[str, ...]:
    """Write the library or the objects; returns the file names."""
    if machine.is_host:
        kept = Constants(code.constants, sizes_of(code.constants)) if code.constants else None
        objects = tuple(code.linked.values())
        link_shared(objects, folder / LIBRARY, machine, constants=kept)
        return (LIBRARY,)
    for name, content in code.linked.items():
        (folder / name).write_bytes(content)
    if not code.constants:
        return tuple(code.linked)
    write_data_object(folder / CONSTANTS, code.constants, machine)
    return (*code.linked, CONSTANTS)


def manifest_of(
    code: Code,
    request: BuildRequest,
    versions: Mapping[str, str],
    files: Mapping[str, str] = MappingProxyType({}),
) -> Manifest:
    """The manifest of host code."""
    return Manifest(
        entry=request.entry,
        target="host",
        arguments=request.arguments,
        toolchain={**versions, **code.versions},
        flops=request.flops,
        offload=request.offload,
        files=dict(files),
        returns_status=code.returns_status,
    )
