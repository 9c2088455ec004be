# SPDX-License-Identifier: Apache-2.0
"""The functions and globals of a module, and the references between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

_REFERENCES = {
    "func.call": "callee",
    "llvm.call": "callee",
    "llvm.mlir.addressof": "global_name",
    "memref.get_global": "name",
}
"""The attribute with which an operation refers to a symbol; an indirect call has none."""


@dataclass(frozen=True)
class Symbol:
    """A function or a global.

    Attributes:
        op: its operation.
        uses: the symbols it refers to.
        inside: the distinct names of its operations.
        size: the number of its operations.
    """

    op: Operation
    uses: tuple[str, ...]
    inside: frozenset[str]
    size: int

    @property
    def is_function(self) -> bool:
        """Whether it is a function, of any dialect."""
        return bool(self.op.name in ("func.func", "llvm.func"))


def symbols_of(module: Operation) -> dict[str, Symbol]:
    """The functions and globals of a module by name, in the module's order."""
    from xtc.ir.mlir import StringAttr

    found = {}
    for op in (op.operation for op in module.regions[0].blocks[0].operations):
        if "sym_name" in op.attributes:
            found[str(StringAttr(op.attributes["sym_name"]).value)] = _symbol(op)
    return found


def _symbol(op: Operation) -> Symbol:
    from xtc.ir.mlir import FlatSymbolRefAttr, all_operations

    ops = all_operations(op)
    names = [inner.name for inner in ops]
    uses = [
        FlatSymbolRefAttr(inner.attributes[_REFERENCES[name]]).value
        for inner, name in zip(ops, names, strict=True)
        if name in _REFERENCES and _REFERENCES[name] in inner.attributes
    ]
    return Symbol(op, tuple(dict.fromkeys(uses)), frozenset(names), len(ops))


def owners(symbols: Mapping[str, Symbol], entry: str) -> dict[str, str]:
    """The symbol that each symbol belongs with: a function that the entry calls, or the entry."""
    users: dict[str, set[str]] = {name: set() for name in symbols}
    for name, symbol in symbols.items():
        for used in symbol.uses:
            if used in users and used != name:
                users[used].add(name)
    found = {entry: entry}
    for name in symbols:
        seen = [name]
        while seen[-1] not in found:
            around = users[seen[-1]]
            (user,) = around if len(around) == 1 else (entry,)
            if user == entry or user in seen:
                is_own = symbols[seen[-1]].is_function and around == {entry}
                found[seen[-1]] = seen[-1] if is_own else entry
            else:
                seen.append(user)
        for below in seen:
            found[below] = found[seen[-1]]
    return found
