# SPDX-License-Identifier: Apache-2.0
"""Compiles a tile class: its comptime blocks, then every reachable function."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.description import Architecture
from xtc_targets.wse.sema import functions
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.code import llvm_type
from xtc_targets.wse.sema.convert import constant_bytes
from xtc_targets.wse.sema.declarations import Export, TileDeclarations
from xtc_targets.wse.sema.functions import Instance
from xtc_targets.wse.sema.program import Program
from xtc_targets.wse.sema.shared import SharedCode
from xtc_targets.wse.sema.values import Address, Const, DsdValue, FunctionValue, Items, Value


@dataclass
class TileClass:
    """PEs with the same file and parameters.

    `entries` are the symbols of the functions that the simulator calls.
    """

    name: str
    declarations: TileDeclarations
    entries: list[str]
    entry_of: dict[FunctionValue, int]
    addresses: dict[str, tuple[int, bool]]
    """Locations of exported data, or with True, of a pointer to them."""
    parameters: dict[str, list[t.Type]]
    """The parameter types of exported functions."""
    memory_end: int
    initial: list[tuple[int, bytes]]
    texts: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    symbols: list[tuple[str, int, int]] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)
    traces: list[tuple[str, int, int]] = field(default_factory=list)
    """The buffers of traces: key, address, words."""
    per_pe: list[tuple[str, int, t.Int]] = field(default_factory=list)
    """The parameters that each PE has in memory: name, address, type."""
    keeps_memory: bool = False
    """Whether the debugger may read variables after the run."""


def compile_tile(
    arch: Architecture, path: Path, params: dict[str, Value], shared: SharedCode,
    rectangle: tuple[int, int],
) -> tuple[TileClass, Program]:  # fmt: skip
    """Evaluate and compile the code of one class. Raises CslError."""
    program = Program(arch, shared, rectangle)
    program.tile = TileDeclarations()
    program.open(path, params, None)
    program.run_blocks()
    entries: list[str] = []
    entry_of: dict[FunctionValue, int] = {}
    parameters = {}
    for function in _entered(program.tile):
        if function in entry_of:
            continue
        instance = functions.entry_of(program.frame(function.module), function)
        entry_of[function] = len(entries)
        entries.append(shared.function(f"enter_{instance.name}", "void", _thunk(instance)))
    program.run_blocks()  # for modules that only functions import
    program.tile.host_in, program.tile.host_out = program.host_colors()
    for name, export in program.tile.exports.items():
        if export.function is not None:
            parameters[name] = program.signature(export.function)[0]
    addresses = _addresses(program, program.tile.exports)
    keeps_memory = program.place_exported() or bool(program.tile.traces)
    traces = [(key, program.address_of(at), words) for key, at, words in program.tile.traces]
    initial = _initial(program)
    program.check_memory(path.name)
    created = TileClass(
        path.name, program.tile, entries, entry_of, addresses,
        parameters, program.memory_end, initial, program.texts, program.said,
        [(each.name, each.address or 0, each.type.size) for each in program.globals],
        program.declared, traces,
        [(name, each.address, kind) for name, (each, kind) in program.per_pe.items()
         if each.address is not None],
        keeps_memory,
    )  # fmt: skip
    return created, program


def _entered(declarations: TileDeclarations) -> list[FunctionValue]:
    found = [binding.function for binding in declarations.tasks.values()]
    found += [each.function for each in declarations.exports.values() if each.function is not None]
    return [*found, *declarations.teardown.values(), *declarations.empty_queue.values()]


def _thunk(instance: Instance) -> str:
    """The function that the simulator calls, with arguments in 64-bit words or 16-bit halves."""
    lines, texts = [], []
    kinds = instance.kinds
    halves = len(kinds) == 2 and all(kind.size == 2 for kind in kinds)
    for number, kind in enumerate(kinds):
        offset = 2 * number if halves else 8 * number
        lines.append(f"  %p{number} = getelementptr i8, ptr %words, i64 {offset}")
        lines.append(f"  %w{number} = load i{8 * kind.size}, ptr %p{number}, align 2")
        used, text = llvm_type(kind), f"%w{number}"
        if isinstance(kind, t.Float):
            lines.append(f"  %a{number} = bitcast i{8 * kind.size} %w{number} to {used}")
            text = f"%a{number}"
        elif used != f"i{8 * kind.size}":
            lines.append(f"  %a{number} = trunc i{8 * kind.size} %w{number} to {used}")
            text = f"%a{number}"
        texts.append(f"{used} {text}")
    call = f"  call void @{instance.symbol}({', '.join(['ptr %pe', *texts])})"
    if instance.result != t.VOID:
        raise CslError(f"'{instance.name}' returns a value that is never used")
    return "\n".join(["(ptr %pe, ptr %words) {", *lines, call, "  ret void", "}"])


def _addresses(program: Program, exports: dict[str, Export]) -> dict[str, tuple[int, bool]]:
    found = {}
    for name, export in exports.items():
        if export.pointer is not None:
            base, offset = export.pointer
            found[name] = (program.address_of(Address(base, offset)), True)
        elif export.location is not None:
            base, offset = export.location
            found[name] = (program.address_of(Address(base, offset)), False)
    return found


def _initial(program: Program) -> list[tuple[int, bytes]]:
    """The nonzero parts of the initial memory."""
    for fifo in program.tile.fifos if program.tile else ():
        program.address_of(Address(fifo.buffer))
    found = []
    done = 0
    while done < len(program.globals):  # pointers may refer to globals that are not placed yet
        each = program.globals[done]
        done += 1
        if each.initial is not None and each.type.size:
            data = constant_bytes(_numbers(program, each.initial), each.type)
            if any(data) and each.address is not None:
                found.append((each.address, data))
    return found


def _numbers(program: Program, value: Const) -> object:
    """A constant's value with addresses replaced by numbers."""
    known = value.value
    if isinstance(known, Address):
        return program.address_of(known) & 0xFFFF
    if isinstance(known, DsdValue):
        words = list(known.words)
        if known.base is not None:
            words[1] = program.address_of(known.base)
        return sum((word & 0xFFFF) << (16 * number) for number, word in enumerate(words))
    if isinstance(known, Items) and isinstance(value.type, t.Array):
        element = value.type.element
        if isinstance(element, t.Pointer | t.Dsd | t.Struct):
            return Items([_numbers(program, Const(element, each)) for each in known.flat])
    if isinstance(known, dict):
        return {name: Const(each.type, _numbers(program, each)) for name, each in known.items()}
    return known
