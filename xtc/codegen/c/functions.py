# SPDX-License-Identifier: Apache-2.0
"""Analyses of a module's functions before code generation: calls, failures, writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xtc.codegen.c.layout import symbol_of
from xtc.ir.analysis.views import root
from xtc.ir.mlir import (
    FlatSymbolRefAttr,
    Operation,
    StringAttr,
    Value,
    all_operations,
)

# Memory whose address is taken may be written.
_ADDRESS = "memref.extract_aligned_pointer_as_index"
_WRITES = {
    "memref.store": 1,
    "vector.store": 1,
    "vector.maskedstore": 0,
    "memref.copy": 1,
    _ADDRESS: 0,
}


def has_body(function: Operation) -> bool:
    """Whether a function is defined here, not only declared."""
    return len(function.regions[0].blocks) > 0


def is_private(function: Operation) -> bool:
    """Whether only this module uses a function."""
    name = "sym_visibility"
    attributes = function.attributes
    return name in attributes and bool(StringAttr(attributes[name]).value == "private")


def callee_of(op: Operation) -> str:
    """The symbol of the function that an operation calls, or ""."""
    return FlatSymbolRefAttr(op.attributes["callee"]).value if op.name == "func.call" else ""


def callees_first(functions: Sequence[Operation]) -> list[Operation]:
    """The functions, each after those that it calls."""
    by_symbol = {symbol_of(function): function for function in functions}
    ordered: dict[str, Operation] = {}

    def add(symbol: str) -> None:
        if symbol in by_symbol and symbol not in seen:
            seen.add(symbol)
            for op in all_operations(by_symbol[symbol]):
                add(callee_of(op))
            ordered[symbol] = by_symbol[symbol]

    seen: set[str] = set()
    for symbol in by_symbol:
        add(symbol)
    return list(ordered.values())


def fallible(functions: Iterable[Operation]) -> frozenset[str]:
    """The symbols of the functions that return a status: they allocate, or call one that does."""
    inside = {symbol_of(function): all_operations(function) for function in functions}
    found = {name for name, ops in inside.items() if any(op.name == "memref.alloc" for op in ops)}
    size = -1
    while size != len(found):
        size = len(found)
        found |= {name for name, ops in inside.items() if any(callee_of(op) in found for op in ops)}
    return frozenset(found)


def read_only(functions: Sequence[Operation]) -> dict[str, tuple[bool, ...]]:
    """For each function, whether it never writes each parameter; `functions` has callees first."""
    known: dict[str, tuple[bool, ...]] = {}
    for function in functions:
        constant = constant_buffers(function, known)
        arguments = function.regions[0].blocks[0].arguments
        known[symbol_of(function)] = tuple(value in constant for value in arguments)
    return known


def constant_buffers(
    function: Operation, known: Mapping[str, Sequence[bool]] | None = None
) -> frozenset[Value]:
    """The arguments that a function never writes.

    Args:
        function: the function.
        known: whether each parameter of a callee is read-only; other callees may write all.
    """
    written = set()
    for op in all_operations(function):
        if op.name in _WRITES:
            written.add(root(op.operands[_WRITES[op.name]]))
        elif op.name == "func.call":
            reads = (known or {}).get(callee_of(op), [False] * len(op.operands))
            handed = zip(op.operands, reads, strict=True)
            written.update(root(operand) for operand, only_read in handed if not only_read)
    return frozenset(set(function.regions[0].blocks[0].arguments) - written)
