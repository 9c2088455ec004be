# SPDX-License-Identifier: Apache-2.0
"""From the llvm dialect to a shared library, to object files, or to objects in memory.

Only code for this machine is linked: what links code for another one, and against what, is for the
user to say, so its artefact holds the object files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from xtc.core.llvm import Machine, compile_ir, data_object, link_shared, linker_version
from xtc.core.versions import toolchain_versions
from xtc.interfaces.artifact import MANIFEST_FILE, Artifact, Manifest, file_hash
from xtc.interfaces.target import BuildRequest
from xtc_targets.host import pool_library
from xtc_targets.host.threads import ALL, KEY

if TYPE_CHECKING:
    from xtc.core.mlir import Operation

LIBRARY = "module.so"
OBJECTS = ("module.o", "constants.o")


@dataclass(frozen=True)
class Code:
    """What the code generator made.

    Attributes:
        objects: the code, and the constants where there are any, as relocatable objects.
        beside: contents by file name of what parallel loops need to run on several threads.
    """

    objects: tuple[bytes, ...]
    beside: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def versions(self) -> dict[str, str]:
        """What else there is to say of the toolchain."""
        return {pool_library.VERSION: pool_library.version()} if self.beside else {}


def toolchain(machine: Machine, opt_level: int, threads: int | None) -> dict[str, str]:
    """What shapes the code: versions, machine, optimisation level, threads, linker."""
    return {
        **toolchain_versions(),
        "codegen": "llvm",
        "triple": machine.triple,
        "cpu": machine.cpu,
        "features": machine.features,
        "opt_level": str(opt_level),
        KEY: str(threads or ALL),
        "linker": linker_version(),
    }


def generate(lowered: Operation, request: BuildRequest, machine: Machine, opt_level: int) -> Code:
    """The code of a module. Raises ToolError where parallel loops need a C compiler that fails."""
    from xtc.core.mlir import translate_to_llvm_ir

    objects = [
        compile_ir(translate_to_llvm_ir(lowered), machine, opt=opt_level, name=request.entry)
    ]
    if request.constants:
        objects.append(data_object(request.constants, machine))
    beside = pool_library.files(machine) if pool_library.has_parallel_loops(lowered) else {}
    return Code(tuple(objects), beside)


def assembly(lowered: Operation, request: BuildRequest, machine: Machine, opt_level: int) -> str:
    """The code as assembly text."""
    from xtc.core.mlir import translate_to_llvm_ir

    ir = translate_to_llvm_ir(lowered)
    return compile_ir(ir, machine, opt=opt_level, kind="assembly", name=request.entry).decode()


def write_artifact(
    code: Code,
    request: BuildRequest,
    machine: Machine,
    versions: Mapping[str, str],
    folder: Path,
) -> Artifact:
    """Link `code`, or keep its objects, in `folder`. Raises ToolError where the linker fails."""
    if machine.is_host:
        link_shared(code.objects, folder / LIBRARY, machine)
        written = dict(code.beside)
        names = (LIBRARY, *written)
    else:
        written = {**dict(zip(OBJECTS, code.objects, strict=False)), **code.beside}
        names = tuple(written)
    for name, content in written.items():
        (folder / name).write_bytes(content)
    hashes = {name: file_hash(folder / name) for name in names}
    manifest = manifest_of(code, request, versions, hashes)
    (folder / MANIFEST_FILE).write_text(manifest.to_json())
    return Artifact(manifest, folder)


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
        files=files,
    )
