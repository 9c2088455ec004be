# SPDX-License-Identifier: Apache-2.0
"""The func dialect in C: functions and calls.

A function that allocates memory, or calls one that does, returns an int: 0, or 1 where memory is
exhausted. Others return nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xtc.core.buffers import root, shares_nothing
from xtc.core.c.expression import Expression, call
from xtc.core.c.layout import symbol_of
from xtc.core.c.memref import element_type, fail_unless
from xtc.core.c.printer import LINE, Printer, Rule
from xtc.core.c.types import CType, array_suffix
from xtc.core.mlir import (
    FlatSymbolRefAttr,
    MemRefType,
    Operation,
    StringAttr,
    Value,
    WalkOrder,
    WalkResult,
)

_GIVEN_AWAY = ("func.call", "memref.extract_aligned_pointer_as_index")
_WRITES = {"memref.store": 1, "vector.store": 1, "memref.copy": 1}


def operations_in(op: Operation) -> list[Operation]:
    """Every operation inside, in the order of the text."""
    found: list[Operation] = []

    def visit(inner: Operation) -> WalkResult:
        found.append(inner.operation)
        return WalkResult.ADVANCE

    op.walk(visit, WalkOrder.PRE_ORDER)
    return found


def has_body(function: Operation) -> bool:
    """Whether a function is defined here, and not only declared."""
    return len(function.regions[0].blocks) > 0


def is_private(function: Operation) -> bool:
    """Whether only this module uses a function."""
    name = "sym_visibility"
    attributes = function.attributes
    return name in attributes and bool(StringAttr(attributes[name]).value == "private")


def fallible(functions: Iterable[Operation]) -> frozenset[str]:
    """Symbols of the functions that return a status, as they allocate or call one that does."""
    inside = {symbol_of(one): operations_in(one) for one in functions}
    found = {name for name, ops in inside.items() if any(op.name == "memref.alloc" for op in ops)}
    size = -1
    while size != len(found):
        size = len(found)
        found |= {name for name, ops in inside.items() if any(_callee(op) in found for op in ops)}
    return frozenset(found)


def _callee(op: Operation) -> str:
    return FlatSymbolRefAttr(op.attributes["callee"]).value if op.name == "func.call" else ""


def constant_buffers(function: Operation) -> frozenset[Value]:
    """The arguments that a function never writes; what is given away may be written."""
    written = set()
    for op in operations_in(function):
        if op.name in _WRITES:
            written.add(root(op.operands[_WRITES[op.name]]))
        elif op.name in _GIVEN_AWAY:
            written.update(root(operand) for operand in op.operands)
    return frozenset(set(function.regions[0].blocks[0].arguments) - written)


def function(printer: Printer, op: Operation, arguments: Sequence[str]) -> str:
    """The C text of a function; `arguments` name its parameters.

    Raises CompileError for what C cannot express.
    """
    block = op.regions[0].blocks[0]
    printer.constant = constant_buffers(op)
    parameters = []
    for value, wish in zip(block.arguments, arguments, strict=True):
        name = printer.names.declare(wish)
        parameters.append(_parameter(printer, value, name))
        is_buffer = isinstance(value.type, MemRefType)
        printer.set(value, Expression(name), f"{name}#" if is_buffer else name)
        if not list(value.uses):
            printer.statement(f"(void){name};")
    printer.operations(block)
    return "\n".join([f"{signature(printer, op, parameters)} {{", *printer.lines, "}"])


def signature(printer: Printer, op: Operation, parameters: Sequence[str]) -> str:
    """A function's head, one parameter a line where they do not fit into one."""
    symbol = symbol_of(op)
    result = "int" if symbol in printer.fallible else "void"
    head = f"{'static ' if is_private(op) else ''}{result} {printer.symbols[symbol]}("
    text = f"{head}{', '.join(parameters) or 'void'})"
    if len(text) + 2 <= LINE:
        return text
    return f"{head}\n    " + ",\n    ".join(parameters) + ")"


def _parameter(printer: Printer, value: Value, name: str) -> str:
    """`const float A[restrict 4][8]`; `restrict` where it overlaps no other memory."""
    if not isinstance(value.type, MemRefType):
        return f"{printer.type_name(value)} {name}"
    type = printer.prelude.type(element_type(printer, value))
    qualifier = "const " if value in printer.constant else ""
    first, *others = list(MemRefType(value.type).shape) or [1]
    size = f"restrict {first}" if shares_nothing(value) else str(first)
    return f"{qualifier}{type} {name}[{size}]{array_suffix(others)}"


def declaration(printer: Printer, op: Operation) -> str:
    """The head of a function that is defined elsewhere."""
    types = op.attributes["function_type"].value.inputs
    texts = [_declared(printer, op, type) for type in types]
    return f"{signature(printer, op, texts).removeprefix('static ')};"


def _declared(printer: Printer, op: Operation, type: object) -> str:
    buffer = isinstance(type, MemRefType)
    found = CType.of(MemRefType(type).element_type if buffer else type)
    if found is None:
        raise printer.error(op, f"parameters of type {type} cannot be written in C")
    return f"{printer.prelude.type(found)}{' *' if buffer else ''}"


def _call(printer: Printer, op: Operation) -> None:
    if len(op.results):
        raise printer.error(op, "the result of a call cannot be written in C")
    callee = _callee(op)
    text = call(printer.symbols[callee], *(printer.expression(one) for one in op.operands)).text
    printer.flush()
    if callee in printer.fallible:
        fail_unless(printer, f"{text} != 0")
    else:
        printer.statement(f"{text};")


def _return(printer: Printer, op: Operation) -> None:
    if len(op.operands):
        raise printer.error(op, "a function that returns a value cannot be written in C")
    if symbol_of(op.parent.operation) in printer.fallible:
        printer.statement("return 0;")


RULES: dict[str, Rule] = {"func.call": _call, "func.return": _return}
