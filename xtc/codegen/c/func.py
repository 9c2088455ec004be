# SPDX-License-Identifier: Apache-2.0
"""The func dialect in C: functions and calls.

A function that allocates memory, or calls a function that does, returns an int: 0, or 1 if memory
is exhausted. Other functions return void.
"""

from __future__ import annotations

from collections.abc import Sequence

from xtc.codegen.c.expression import Expression, call
from xtc.codegen.c.functions import callee_of, constant_buffers, is_private
from xtc.codegen.c.layout import symbol_of
from xtc.codegen.c.memref import element_type, fail_unless
from xtc.codegen.c.printer import LINE, Printer, Rule
from xtc.codegen.c.types import CType, array_suffix
from xtc.ir.analysis.views import shares_nothing
from xtc.ir.mlir import MemRefType, Operation, Value


def function(printer: Printer, op: Operation, arguments: Sequence[str]) -> str:
    """The C text of a function; `arguments` name its parameters.

    Raises CompileError for an operation that C cannot express.
    """
    block = op.regions[0].blocks[0]
    printer.constant = constant_buffers(op, printer.read_only)
    parameters: dict[str, str] = {}
    for value, wish in zip(block.arguments, arguments, strict=True):
        name = printer.names.declare(wish)
        parameters[name] = _parameter(printer, value, name)
        is_buffer = isinstance(value.type, MemRefType)
        printer.set(value, Expression(name), f"{name}#" if is_buffer else name)
    printer.operations(block)
    head = signature(printer, op, list(parameters.values()))
    unused = [f"  (void){name};" for name in parameters if not printer.mentions(name)]
    return "\n".join([f"{head} {{", *unused, *printer.lines, "}"])


def signature(printer: Printer, op: Operation, parameters: Sequence[str]) -> str:
    """The signature of a function, with one parameter per line if they do not fit on one line."""
    symbol = symbol_of(op)
    result = "int" if symbol in printer.fallible else "void"
    head = f"{_linkage(op)}{result} {printer.symbols[symbol]}("
    text = f"{head}{', '.join(parameters) or 'void'})"
    if len(text) + 2 <= LINE:
        return text
    return f"{head}\n    " + ",\n    ".join(parameters) + ")"


def _linkage(op: Operation) -> str:
    """The linkage; a `no_inline` function keeps the `restrict` of its parameters."""
    inline = "__attribute__((noinline)) " if "no_inline" in op.attributes else ""
    return f"{'static ' if is_private(op) else ''}{inline}"


def _parameter(printer: Printer, value: Value, name: str) -> str:
    """`const float A[restrict 4][8]`; `restrict` if it does not alias other memory."""
    if not isinstance(value.type, MemRefType):
        return f"{printer.type_name(value)} {name}"
    type = printer.prelude.type(element_type(printer, value))
    qualifier = "const " if value in printer.constant else ""
    first, *others = list(MemRefType(value.type).shape) or [1]
    size = f"restrict {first}" if shares_nothing(value) else str(first)
    return f"{qualifier}{type} {name}[{size}]{array_suffix(others)}"


def declaration(printer: Printer, op: Operation) -> str:
    """The declaration of a function that is defined elsewhere."""
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
    callee = callee_of(op)
    suggest_names(printer, op)
    text = call(printer.symbols[callee], *map(printer.expression, op.operands)).text
    printer.flush()
    if callee in printer.fallible:
        fail_unless(printer, f"{text} != 0")
    else:
        printer.statement(f"{text};")


def suggest_names(printer: Printer, op: Operation) -> None:
    """Suggest the names of a call's operands for the callee's parameters."""
    texts = [printer.expression(operand).text for operand in op.operands]
    names = [text if text.isidentifier() else "value" for text in texts]
    printer.suggested.setdefault(callee_of(op), names)


def _return(printer: Printer, op: Operation) -> None:
    if len(op.operands):
        raise printer.error(op, "a function that returns a value cannot be written in C")
    if symbol_of(op.parent.operation) in printer.fallible:
        printer.statement("return 0;")


RULES: dict[str, Rule] = {"func.call": _call, "func.return": _return}
