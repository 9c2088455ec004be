# SPDX-License-Identifier: Apache-2.0
"""A module of memref, scf, arith, math, vector and func operations as one C file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xtc.codegen.c import arith, compare, convert, func, functions, math, memref, scf, vector
from xtc.codegen.c.constant_data import declaration
from xtc.codegen.c.layout import symbol_of
from xtc.codegen.c.names import Names, is_reserved
from xtc.codegen.c.prelude import Prelude
from xtc.codegen.c.printer import Printer, Rule
from xtc.core.errors import CompileError, UserError
from xtc.ir.diagnostics import first_line
from xtc.ir.mlir import Operation

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
_STATUS = "// Returns 0, or 1 if memory for temporary arrays is exhausted.\n"


@dataclass(frozen=True)
class CSource:
    """A C file.

    Attributes:
        text: C11 with the extensions that GCC and Clang share.
        symbols: the C names of functions and globals, by MLIR symbol.
        fallible: the MLIR symbols of functions that return an int: 0, or 1 if memory is exhausted.
    """

    text: str
    symbols: Mapping[str, str]
    fallible: frozenset[str]


def c_source(
    module: Operation,
    arguments: Mapping[str, Sequence[str]] | None = None,
    rules: Mapping[str, Rule] | None = None,
    provided: Collection[str] = (),
    reserved: Collection[str] = (),
    contents: Mapping[str, bytes | memoryview] | None = None,
) -> CSource:
    """The C file of a module, whose functions have arguments and buffers of static shape.

    Args:
        module: functions, and globals of constant data.
        arguments: the names of a function's parameters, by symbol.
        rules: rules for target-specific operations, by operation name.
        provided: functions without a body that a header of the caller declares.
        reserved: names that the text of these rules uses.
        contents: the bytes of constants to define, by symbol; other constants are `extern`.

    Raises:
        CompileError: an operation cannot be written in C; names it and its graph node.
    """
    top = [op.operation for op in module.regions[0].blocks[0].operations]
    found = [op for op in top if op.name == "func.func"]
    tables = [op for op in top if op.name == "memref.global"]
    for op in top:
        if op not in found and op not in tables:
            raise CompileError(f"{op.name} cannot be written in C", notes=[first_line(op)])
    symbols = _c_names(top, reserved)
    written = [op for op in found if symbol_of(op) not in provided]
    unit = _Unit({**RULES, **(rules or {})}, arguments or {}, symbols, written, reserved)
    return unit.source(tables, contents or {})


def _c_names(top: Sequence[Operation], reserved: Collection[str]) -> dict[str, str]:
    """The C names; public functions keep theirs. Raises UserError if C reserves one."""
    named = [op for op in top if op.name == "func.func"]
    public = [symbol_of(op) for op in named if not functions.is_private(op)]
    for symbol in public:
        if is_reserved(symbol) or symbol in reserved:
            raise UserError(
                f"a C function cannot be called '{symbol}'",
                notes=["C, its library or the generated code uses the name"],
                hints=[f"call the graph {symbol}_graph"],
            )
    declared = [symbol_of(op) for op in named if not functions.has_body(op)]
    names = Names([*public, *declared, *reserved])
    fixed = {symbol: symbol for symbol in (*public, *declared)}
    others = [symbol for symbol in map(symbol_of, top) if symbol not in fixed]
    return {**fixed, **{symbol: names.declare(symbol) for symbol in others}}


class _Unit:
    def __init__(
        self,
        rules: Mapping[str, Rule],
        arguments: Mapping[str, Sequence[str]],
        symbols: Mapping[str, str],
        found: Sequence[Operation],
        reserved: Collection[str],
    ) -> None:
        self.prelude = Prelude()
        self._rules = rules
        self._names = {symbol: list(names) for symbol, names in arguments.items()}
        self._symbols = symbols
        self._reserved = reserved
        self._declared = [op for op in found if not functions.has_body(op)]
        self._defined = functions.callees_first([op for op in found if functions.has_body(op)])
        self._fallible = functions.fallible(found)
        self._read_only = functions.read_only(self._defined)

    def source(
        self, tables: Sequence[Operation], contents: Mapping[str, bytes | memoryview]
    ) -> CSource:
        data = [
            declaration(self.prelude, op, self._symbols[symbol_of(op)], contents.get(symbol_of(op)))
            for op in tables
        ]
        declared = [func.declaration(self._printer(), op) for op in self._declared]
        # A function is written before its callees, as it suggests names for their parameters; in
        # the text it follows them.
        bodies = [self._function(op) for op in reversed(self._defined)][::-1]
        code = "\n\n".join(part for part in ("\n".join(declared), "\n".join(data), *bodies) if part)
        text = f"{self.prelude.text(code)}\n\n{code}"
        return CSource(f"{text}\n", self._symbols, self._fallible)

    def _function(self, op: Operation) -> str:
        symbol, printer = symbol_of(op), self._printer()
        count = len(op.regions[0].blocks[0].arguments)
        names = self._names.get(symbol) or [f"arg{n}" for n in range(count)]
        text = func.function(printer, op, names)
        status = _STATUS if symbol in self._fallible else ""
        return "\n\n".join([*printer.definitions, f"{status}{text}"])

    def _printer(self) -> Printer:
        return Printer(
            self._rules,
            Names([*self._symbols.values(), *self._reserved]),
            self.prelude,
            self._symbols,
            self._fallible,
            self._read_only,
            self._names,
        )
