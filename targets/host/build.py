# SPDX-License-Identifier: Apache-2.0
"""From the llvm dialect to a shared library, to object files, or to objects in memory.

Only code for this machine is linked: what links code for another one, and against what, is for the
user to say, so its artefact holds the object files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.core.llvm import Machine, compile_ir, data_object, link_shared, linker_version
from xtc.core.versions import toolchain_versions
from xtc.interfaces.artifact import MANIFEST_FILE, Artifact, Manifest, file_hash
from xtc.interfaces.target import BuildRequest

if TYPE_CHECKING:
    from xtc.core.mlir import Operation

LIBRARY = "module.so"
OBJECTS = ("module.o", "constants.o")


def toolchain(machine: Machine, opt_level: int) -> dict[str, str]:
    """What shapes the code: versions, machine, optimisation level, linker."""
    return {
        **toolchain_versions(),
        "codegen": "llvm",
        "triple": machine.triple,
        "cpu": machine.cpu,
        "features": machine.features,
        "opt_level": str(opt_level),
        "linker": linker_version(),
    }


def objects(
    lowered: Operation, request: BuildRequest, machine: Machine, opt_level: int
) -> tuple[bytes, ...]:
    """The code, and the constants where there are any, as relocatable objects."""
    from xtc.core.mlir import translate_to_llvm_ir

    code = compile_ir(translate_to_llvm_ir(lowered), machine, opt=opt_level, name=request.entry)
    if not request.constants:
        return (code,)
    return (code, data_object(request.constants, machine))


def assembly(lowered: Operation, request: BuildRequest, machine: Machine, opt_level: int) -> str:
    """The code as assembly text."""
    from xtc.core.mlir import translate_to_llvm_ir

    ir = translate_to_llvm_ir(lowered)
    return compile_ir(ir, machine, opt=opt_level, kind="assembly", name=request.entry).decode()


def write_artifact(
    code: tuple[bytes, ...],
    request: BuildRequest,
    machine: Machine,
    versions: Mapping[str, str],
    folder: Path,
) -> Artifact:
    """Link `code`, or keep its objects, in `folder`. Raises ToolError where the linker fails."""
    if machine.is_host:
        names: tuple[str, ...] = (LIBRARY,)
        link_shared(code, folder / LIBRARY, machine)
    else:
        names = OBJECTS[: len(code)]
        for name, content in zip(names, code, strict=True):
            (folder / name).write_bytes(content)
    manifest = manifest_of(request, versions, {name: file_hash(folder / name) for name in names})
    (folder / MANIFEST_FILE).write_text(manifest.to_json())
    return Artifact(manifest, folder)


def manifest_of(
    request: BuildRequest, versions: Mapping[str, str], files: Mapping[str, str]
) -> Manifest:
    """The manifest of host code."""
    return Manifest(
        entry=request.entry,
        target="host",
        arguments=request.arguments,
        toolchain=versions,
        flops=request.flops,
        files=files,
    )
