# SPDX-License-Identifier: Apache-2.0
"""Splits a large module in the llvm dialect into units, for parallel code generation.

A definition that other units use has external linkage and hidden visibility; private constants are
duplicated in each unit that reads them. The same module gives the same units on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from xtc.ir.analysis.symbols import Symbol, owners, symbols_of

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

UNIT_OPERATIONS = 1500
"""The approximate number of operations in a unit. Code generation of a unit takes about a tenth of
a second on one core."""

_EXTERNAL = "#llvm.linkage<external>"
_OWN = ("#llvm.linkage<internal>", "#llvm.linkage<private>")
_HIDDEN = 1  # llvm::GlobalValue::HiddenVisibility
_OF_BODIES = ("value", "no_inline")


def is_defined(op: Operation) -> bool:
    """Whether a function or a global is defined, not only declared."""
    return bool(op.regions[0].blocks) or "value" in op.attributes


def _is_repeated(op: Operation) -> bool:
    """Whether a symbol may be duplicated in units: a declaration or a private constant."""
    return not is_defined(op) or (_is_own(op) and "constant" in op.attributes)


def _is_own(op: Operation) -> bool:
    return str(op.attributes["linkage"]) in _OWN


def llvm_units(module: Operation, entry: str) -> list[Operation]:
    """The units of a module, the unit of the function `entry` first; the module itself if small.

    A function is in the unit of the only function that refers to it, unless that is the entry.
    """
    from xtc.ir.mlir import InsertionPoint, Module

    symbols = symbols_of(module)
    parts = _parts(symbols, entry)
    if len(parts) == 1:
        return [module]
    shared = _shared(symbols, parts)
    result = []
    for part in parts:
        with module.context, module.location:
            unit = Module.create().operation
            for name in module.attributes:
                unit.attributes[name] = module.attributes[name]
            with InsertionPoint(unit.regions[0].blocks[0]):
                for name in _closure(part, symbols):
                    _copy(symbols[name], name in part, name in shared)
        result.append(unit)
    return result


def _parts(symbols: Mapping[str, Symbol], entry: str) -> list[list[str]]:
    """The symbols that each unit defines, the entry's unit first."""
    owner = owners(symbols, entry)
    groups: dict[str, list[str]] = {entry: []}
    for name in symbols:
        if not _is_repeated(symbols[name].op):
            groups.setdefault(owner[name], []).append(name)
    first = groups.pop(entry)
    parts: list[list[str]] = []
    size = UNIT_OPERATIONS
    for group in groups.values():
        if size >= UNIT_OPERATIONS:
            parts.append([])
            size = 0
        parts[-1] += group
        size += sum(symbols[name].size for name in group)
    return [first, *parts] if len(parts) > 1 else [[*first, *(parts[0] if parts else [])]]


def _shared(symbols: Mapping[str, Symbol], parts: list[list[str]]) -> set[str]:
    """The symbols that a unit uses and another defines."""
    unit = {name: number for number, part in enumerate(parts) for name in part}
    return {
        used
        for name, symbol in symbols.items()
        for used in symbol.uses
        if used in unit and unit[used] != unit.get(name)
    }


def _closure(part: Iterable[str], symbols: Mapping[str, Symbol]) -> list[str]:
    """The symbols of a unit: its definitions, and the symbols that these and constants use."""
    wanted = dict.fromkeys(part)
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        for used in symbols[name].uses if name in part or _is_repeated(symbols[name].op) else ():
            if used in symbols and used not in wanted:
                wanted[used] = None
                waiting.append(used)
    return [name for name in symbols if name in wanted]


def declaration_of(op: Operation) -> Operation:
    """The declaration of a unit's definition, for other units."""
    from xtc.ir.builders.rebuild import without_body

    return without_body(op, *_OF_BODIES)


def _copy(symbol: Symbol, is_here: bool, is_shared: bool) -> None:
    """Add a symbol to a unit: its definition if it belongs there, else a declaration."""
    from xtc.ir.mlir import Attribute

    copy = symbol.op.clone() if is_here or _is_repeated(symbol.op) else declaration_of(symbol.op)
    if is_shared and _is_own(copy):
        if is_here:  # declarations are not hidden, as units may be loaded far from each other
            show_to_units(copy)
        else:
            copy.attributes["linkage"] = Attribute.parse(_EXTERNAL)


def show_to_units(op: Operation) -> None:
    """Make a definition visible to the other units of the program, but not outside it."""
    from xtc.ir.mlir import Attribute, IntegerAttr, IntegerType

    with op.context:
        op.attributes["linkage"] = Attribute.parse(_EXTERNAL)
        op.attributes["visibility_"] = IntegerAttr.get(IntegerType.get_signless(64), _HIDDEN)
