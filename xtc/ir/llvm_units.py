# SPDX-License-Identifier: Apache-2.0
"""A large module in the llvm dialect as several smaller ones, whose code can be made in parallel.

What a unit defines for others has external linkage and, there, hidden visibility; private constants
are repeated in each unit that reads them. The same module gives the same units on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

UNIT_OPERATIONS = 1500
"""The approximate number of operations in a unit, whose code generation takes about a tenth of
a second on one core."""

_EXTERNAL = "#llvm.linkage<external>"
_OWN = ("#llvm.linkage<internal>", "#llvm.linkage<private>")
_HIDDEN = 1  # llvm::GlobalValue::HiddenVisibility
_OF_BODIES = ("value", "no_inline")
_REFERENCES = ("callee", "global_name")


@dataclass(frozen=True)
class _Symbol:
    """A function or a global, the symbols that it names, and the number of its operations."""

    op: Operation
    uses: tuple[str, ...]
    size: int

    @property
    def is_function(self) -> bool:
        return bool(self.op.name == "llvm.func")

    @property
    def is_defined(self) -> bool:
        return bool(self.op.regions[0].blocks) or "value" in self.op.attributes

    @property
    def is_repeated(self) -> bool:
        """Whether each unit may have it for itself: a declaration, or a private constant."""
        own = str(self.op.attributes["linkage"]) in _OWN
        return not self.is_defined or (own and "constant" in self.op.attributes)


def llvm_units(module: Operation, entry: str) -> list[Operation]:
    """The units of a module, that of the function `entry` first; the module itself if it is small.

    A function stands in the unit of the only function that names it, if that is not the entry.
    """
    from xtc.ir.mlir import InsertionPoint, Module

    symbols = _symbols(module)
    parts = _parts(symbols, entry)
    if len(parts) == 1:
        return [module]
    shared = _shared(symbols, parts)
    made = []
    for part in parts:
        with module.context, module.location:
            unit = Module.create().operation
            for name in module.attributes:
                unit.attributes[name] = module.attributes[name]
            with InsertionPoint(unit.regions[0].blocks[0]):
                for name in _closure(part, symbols):
                    _copy(symbols[name], name in part, name in shared)
        made.append(unit)
    return made


def _symbols(module: Operation) -> dict[str, _Symbol]:
    from xtc.ir.mlir import FlatSymbolRefAttr, StringAttr, all_operations

    found = {}
    for op in (op.operation for op in module.regions[0].blocks[0].operations):
        inside = all_operations(op)
        uses = [
            FlatSymbolRefAttr(inner.attributes[key]).value
            for inner in inside
            for key in _REFERENCES
            if key in inner.attributes
        ]
        if "sym_name" in op.attributes:
            name = str(StringAttr(op.attributes["sym_name"]).value)
            found[name] = _Symbol(op, tuple(dict.fromkeys(uses)), len(inside))
    return found


def _parts(symbols: dict[str, _Symbol], entry: str) -> list[list[str]]:
    """The symbols that each unit defines, the entry's first; a single part where that is all."""
    home = _homes(symbols, entry)
    groups: dict[str, list[str]] = {entry: []}
    for name in symbols:
        if not symbols[name].is_repeated:
            groups.setdefault(home[name], []).append(name)
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


def _homes(symbols: dict[str, _Symbol], entry: str) -> dict[str, str]:
    """With which symbol each one stands: a function that the entry calls, or the entry."""
    users: dict[str, set[str]] = {name: set() for name in symbols}
    for name, symbol in symbols.items():
        for used in symbol.uses:
            if used in users and used != name:
                users[used].add(name)
    home = {entry: entry}
    for name in symbols:
        seen = [name]
        while seen[-1] not in home:
            around = users[seen[-1]]
            (user,) = around if len(around) == 1 else (entry,)
            if user == entry or user in seen:
                is_own = symbols[seen[-1]].is_function and around == {entry}
                home[seen[-1]] = seen[-1] if is_own else entry
            else:
                seen.append(user)
        for below in seen:
            home[below] = home[seen[-1]]
    return home


def _shared(symbols: dict[str, _Symbol], parts: list[list[str]]) -> set[str]:
    """The symbols that another unit than their own names."""
    unit = {name: number for number, part in enumerate(parts) for name in part}
    return {
        used
        for name, symbol in symbols.items()
        for used in symbol.uses
        if used in unit and unit[used] != unit.get(name)
    }


def _closure(part: Iterable[str], symbols: dict[str, _Symbol]) -> list[str]:
    """What a unit holds: what it defines, what that names, and what repeated constants name."""
    wanted = dict.fromkeys(part)
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        for used in symbols[name].uses if name in part or symbols[name].is_repeated else ():
            if used in symbols and used not in wanted:
                wanted[used] = None
                waiting.append(used)
    return [name for name in symbols if name in wanted]


def _copy(symbol: _Symbol, is_here: bool, is_shared: bool) -> None:
    """Add a symbol to a unit: its definition where it belongs there, else a declaration."""
    from xtc.ir.builders.rebuild import bodiless
    from xtc.ir.mlir import Attribute, IntegerAttr, IntegerType

    copy = symbol.op.clone() if is_here or symbol.is_repeated else bodiless(symbol.op, *_OF_BODIES)
    if is_shared and str(copy.attributes["linkage"]) in _OWN:
        copy.attributes["linkage"] = Attribute.parse(_EXTERNAL)
        if is_here:  # a declaration is not hidden: units may be loaded far from each other
            copy.attributes["visibility_"] = IntegerAttr.get(IntegerType.get_signless(64), _HIDDEN)
