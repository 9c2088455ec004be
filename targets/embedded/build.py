# SPDX-License-Identifier: Apache-2.0
"""Builds an image for a board, and its memory map, from the lowered module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine, compile_ir, data_object
from xtc.core.errors import DeviceMemoryError
from xtc.interfaces.artifact import MANIFEST_FILE, Argument, Artifact, Manifest, file_hash
from xtc.interfaces.memory_map import MemoryMap, Symbol
from xtc.interfaces.target import BuildRequest
from xtc_targets.embedded import c_sources
from xtc_targets.embedded.library import Program, library_files, plan_text
from xtc_targets.embedded.link.elf import read_object
from xtc_targets.embedded.link.executable import executable
from xtc_targets.embedded.link.linker import RAM, Layout, Linked, link
from xtc_targets.embedded.options import EmbeddedOptions
from xtc_targets.embedded.passes import ARENA
from xtc_targets.embedded.passes.plan_memory import planned
from xtc_targets.embedded.support import support_objects

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

IMAGE, PLAN = "image.elf", "buffers.json"
RESET, ENTRY = "xtc_reset", "xtc_entry"
_ROOTS = ("xtc_vectors", ENTRY)
_ALIGN = 4


def write_artifact(
    lowered: Operation,
    request: BuildRequest,
    options: EmbeddedOptions,
    toolchain: Mapping[str, str],
    folder: Path,
) -> Artifact:
    """Write the image and its manifest. Raises DeviceMemoryError if the board is too small."""
    program = compiled(lowered, request, options)
    linked = linked_program(program, request.entry, options)
    arguments, memory = _with_arguments(request, program, linked)
    files = {IMAGE: executable(replace(linked, memory=memory), RESET)}
    files |= library_files(program, request)
    files[PLAN] = plan_text(program, request).encode()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    manifest = Manifest(
        entry=request.entry,
        target="embedded",
        arguments=arguments,
        toolchain=dict(toolchain),
        flops=request.flops,
        files={name: file_hash(folder / name) for name in files},
        memory=memory,
    )
    (folder / MANIFEST_FILE).write_text(manifest.to_json())
    return Artifact(manifest, folder)


def compiled(lowered: Operation, request: BuildRequest, options: EmbeddedOptions) -> Program:
    """The objects of a program. Raises CompileError."""
    machine = options.description.core.machine
    name = request.entry
    if options.codegen == "c":
        source = c_sources.c_text(lowered, request)
        code = c_sources.object_code(source, options.description.core, options.optimization, name)
        return Program((code,), tuple(planned(lowered)), source)
    text = _ir(lowered)
    objects = [compile_ir(text, machine, opt=options.optimization, name=name, static=True)]
    if request.constants:
        align = 16 if options.description.core.vector_bits else _ALIGN
        objects.append(data_object(request.constants, machine, align=align))
    return Program(tuple(objects), tuple(planned(lowered)))


def linked_program(program: Program, entry: str, options: EmbeddedOptions) -> Linked:
    """The linked program. Raises DeviceMemoryError if the board is too small."""
    board = options.description
    start = _started(entry, board.core.machine)
    objects = [read_object(data) for data in (*program.objects, start)]
    layout = Layout(board.flash, board.ram, options.stack_bytes)
    try:
        return link([*objects, *support_objects(board.core)], layout, _ROOTS)
    except DeviceMemoryError as error:
        error.notes = (*error.notes, *_largest_buffers(program))
        raise


def assembly(lowered: Operation, request: BuildRequest, options: EmbeddedOptions) -> str:
    """The program's code as assembly, or as C."""
    if options.codegen == "c":
        return c_sources.c_text(lowered, request, contents=False)
    text = compile_ir(
        _ir(lowered),
        options.description.core.machine,
        opt=options.optimization,
        kind="assembly",
        name=request.entry,
        static=True,
    )
    return text.decode()


def _ir(lowered: Operation) -> str:
    from xtc.ir.llvm_ir import translate_to_llvm_ir

    return translate_to_llvm_ir(lowered)


def _started(entry: str, machine: Machine) -> bytes:
    """An object through which start-up code calls the program."""
    text = f'declare void @"{entry}"()\ndefine void @{ENTRY}() {{\n'
    text += f'  tail call void @"{entry}"()\n  ret void\n}}\n'
    return compile_ir(text, machine, opt=2, name=ENTRY, static=True)


def _with_arguments(
    request: BuildRequest, program: Program, linked: Linked
) -> tuple[tuple[Argument, ...], MemoryMap]:
    """The arguments with their symbols, and the memory map with arguments and buffers."""
    base = linked.addresses[f"{request.entry}{ARENA}"]
    names = {f"argument{n}": a.name for n, a in enumerate(request.arguments)}
    symbols = []
    for buffer in program.plan:
        name = names.get(str(buffer["name"]), f"{buffer['name']} (temporary)")
        at, nbytes = base + int(buffer["offset"]), int(buffer["bytes"])
        symbols.append(Symbol(f"{request.entry}.{name}", RAM, at, nbytes))
    arguments = tuple(replace(a, symbol=f"{request.entry}.{a.name}") for a in request.arguments)
    return arguments, replace(linked.memory, symbols=(*linked.memory.symbols, *symbols))


def _largest_buffers(program: Program) -> list[str]:
    largest = sorted(program.plan, key=lambda buffer: -int(buffer["bytes"]))[:8]
    return [
        f"{buffer['bytes']} bytes in the arena: {buffer['name']}, "
        f"from call {buffer['begin']} to {buffer['end']}"
        for buffer in largest
    ]
