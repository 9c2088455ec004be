# SPDX-License-Identifier: Apache-2.0
"""Parts of a program: modules of functions that are lowered separately.

A part contains functions that only the entry calls, and functions that only these call. They use no
other symbol of the program, which declares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from xtc.ir.analysis.symbols import Symbol, owners, symbols_of
from xtc.ir.attributes import CONSTANT_BYTES, EXTERNAL, MAY_FAIL

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

PART_OPERATIONS = 600
"""The approximate number of operations of a part. Lowering doubles or triples it, and code
generation takes 0.1 to 0.2 s on one core."""


def take_parts(module: Operation, entry: str) -> list[Operation]:
    """Move the parts out of a bufferized program; none if there would be a single part."""
    symbols = symbols_of(module)
    groups = _groups(symbols, entry)
    batches = _batches(groups, symbols)
    if len(batches) < 2:
        return []
    _note_constants(module)
    return [_taken(batch, symbols, module) for batch in batches]


def _note_constants(module: Operation) -> None:
    """Record the size of the program's constants for the parts, which have no globals."""
    from xtc.ir.analysis.constant_sizes import constant_bytes
    from xtc.ir.mlir import IntegerAttr, IntegerType

    with module.context:
        number = IntegerType.get_signless(64)
        module.attributes[CONSTANT_BYTES] = IntegerAttr.get(number, constant_bytes(module))


def _groups(symbols: Mapping[str, Symbol], entry: str) -> dict[str, list[str]]:
    """The separable functions, each with the functions that only it calls."""
    groups: dict[str, list[str]] = {}
    for name, owner in owners(symbols, entry).items():
        if owner != entry:
            groups.setdefault(owner, []).append(name)
    return {owner: group for owner, group in groups.items() if _stands_alone(group, symbols)}


def _stands_alone(group: Iterable[str], symbols: Mapping[str, Symbol]) -> bool:
    """Whether functions use no other symbol of the module and call no external functions."""
    names = set(group)
    return all(
        symbols[name].op.name == "func.func"
        and bool(symbols[name].op.regions[0].blocks)
        and names.issuperset(symbols[name].uses)
        and not _calls_externals(symbols[name])
        for name in names
    )


def _calls_externals(symbol: Symbol) -> bool:
    from xtc.ir.analysis.linalg_ops import operations_with

    return bool(operations_with(symbol.op, EXTERNAL))


def _batches(
    groups: Mapping[str, list[str]], symbols: Mapping[str, Symbol]
) -> list[dict[str, list[str]]]:
    """Consecutive groups, merged up to about PART_OPERATIONS operations."""
    batches: list[dict[str, list[str]]] = []
    size = PART_OPERATIONS
    for owner, group in groups.items():
        if size >= PART_OPERATIONS:
            batches.append({})
            size = 0
        batches[-1][owner] = group
        size += sum(symbols[name].size for name in group)
    return batches


def _taken(
    batch: Mapping[str, list[str]], symbols: Mapping[str, Symbol], module: Operation
) -> Operation:
    """Move the functions of these groups to a new module, and declare them in `module`."""
    from xtc.ir.mlir import Module

    with module.context, module.location:
        part = Module.create().operation
        for name in module.attributes:
            part.attributes[name] = module.attributes[name]
        for owner, group in batch.items():
            _declare(symbols[owner].op, any(map(_allocates, (symbols[name] for name in group))))
            for name in group:
                op = symbols[name].op
                op.detach_from_parent()
                part.regions[0].blocks[0].append(op)
    return part


def _allocates(symbol: Symbol) -> bool:
    return "memref.alloc" in symbol.inside


def _declare(function: Operation, may_fail: bool) -> None:
    """Declare a function before its definition."""
    from xtc.ir.builders.rebuild import without_body
    from xtc.ir.mlir import InsertionPoint, UnitAttr

    with InsertionPoint(function):
        declared = without_body(function, "llvm.linkage")
    if may_fail:
        declared.attributes[MAY_FAIL] = UnitAttr.get()


def shown_functions(part: Operation) -> frozenset[str]:
    """The functions of a part that the program calls: those not called within the part."""
    symbols = symbols_of(part)
    called = {used for symbol in symbols.values() for used in symbol.uses}
    return frozenset(
        name
        for name, symbol in symbols.items()
        if symbol.is_function and symbol.op.regions[0].blocks and name not in called
    )
