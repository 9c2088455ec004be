# SPDX-License-Identifier: Apache-2.0
"""A module of memref, scf, arith, math, vector and func operations as one C file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xtc.core.c import arith, compare, convert, func, math, memref, scf, vector
from xtc.core.c.layout import symbol_of
from xtc.core.c.names import Names, is_reserved
from xtc.core.c.prelude import Prelude
from xtc.core.c.printer import Printer, Rule
from xtc.core.c.tables import declaration
from xtc.core.errors import CompileError, UserError
from xtc.core.mlir import Operation

RULES: dict[str, Rule] = {
    **arith.RULES,
    **compare.RULES,
    **convert.RULES,
    **func.RULES,
    **math.RULES,
    **memref.RULES,
    **scf.RULES,
    **vector.RULES,
}
_STATUS = "// Returns 0, or 1 where memory for temporary arrays is exhausted.\n"


@dataclass(frozen=True)
class CSource:
    """A C file.

    Attributes:
        text: what the compiler takes; C11 with the extensions that GCC and Clang share.
        symbols: C names of functions and globals, by their MLIR symbols.
        fallible: MLIR symbols of the functions that return an int: 0, or 1 without memory.
    """

    text: str
    symbols: Mapping[str, str]
    fallible: frozenset[str]


def c_source(
    module: Operation,
    arguments: Mapping[str, Sequence[str]] | None = None,
    rules: Mapping[str, Rule] | None = None,
    provided: Collection[str] = (),
) -> CSource:
    """The C file of a module, whose functions take and keep buffers of static shape.

    Args:
        module: functions, and globals of constant data.
        arguments: what a function's parameters are called, by its symbol.
        rules: how operations are written that only one target has, by their names.
        provided: functions without a body that a header of the caller's declares.

    Raises:
        CompileError: C cannot express an operation; names it and the node it came from.
    """
    top = [op.operation for op in module.regions[0].blocks[0].operations]
    functions = [op for op in top if op.name == "func.func"]
    tables = [op for op in top if op.name == "memref.global"]
    for op in top:
        if op not in functions and op not in tables:
            raise CompileError(f"{op.name} cannot be written in C", notes=[str(op)[:200]])
    unit = _Unit({**RULES, **(rules or {})}, arguments or {}, _c_names(top), functions)
    return unit.source([one for one in functions if symbol_of(one) not in provided], tables)


def _c_names(top: Sequence[Operation]) -> dict[str, str]:
    """Functions that others call keep their names. Raises UserError for one that C has taken."""
    public = [symbol_of(op) for op in top if op.name == "func.func" and not func.is_private(op)]
    for symbol in public:
        if is_reserved(symbol):
            raise UserError(
                f"a C function cannot be called '{symbol}'",
                notes=["C, its library or the generated code uses the name"],
                hints=[f"call the graph {symbol}_graph"],
            )
    declared = [symbol_of(op) for op in top if op.name == "func.func" and not func.has_body(op)]
    names = Names([*public, *declared])
    fixed = {symbol: symbol for symbol in (*public, *declared)}
    others = [symbol for symbol in map(symbol_of, top) if symbol not in fixed]
    return {**fixed, **{symbol: names.declare(symbol) for symbol in others}}


class _Unit:
    def __init__(
        self,
        rules: Mapping[str, Rule],
        arguments: Mapping[str, Sequence[str]],
        symbols: Mapping[str, str],
        functions: Sequence[Operation],
    ) -> None:
        self.prelude = Prelude()
        self._rules = rules
        self._arguments = arguments
        self._symbols = symbols
        self._fallible = func.fallible(functions)

    def source(self, functions: Sequence[Operation], tables: Sequence[Operation]) -> CSource:
        data = [declaration(self.prelude, op, self._symbols[symbol_of(op)]) for op in tables]
        defined = [op for op in functions if func.has_body(op)]
        declared = [func.declaration(self._printer(), op) for op in functions if op not in defined]
        bodies = [self._function(op) for op in defined]
        code = "\n\n".join(part for part in ("\n".join(declared), "\n".join(data), *bodies) if part)
        text = f"{self.prelude.text(code)}\n\n{code}"
        return CSource(f"{text}\n", self._symbols, self._fallible)

    def _function(self, op: Operation) -> str:
        symbol = symbol_of(op)
        count = len(op.regions[0].blocks[0].arguments)
        names = self._arguments.get(symbol) or [f"arg{n}" for n in range(count)]
        text = func.function(self._printer(), op, names)
        return f"{_STATUS}{text}" if symbol in self._fallible else text

    def _printer(self) -> Printer:
        names = Names(self._symbols.values())
        return Printer(self._rules, names, self.prelude, self._symbols, self._fallible)
