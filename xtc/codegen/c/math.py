# SPDX-License-Identifier: Apache-2.0
"""The math dialect in C: functions of the C library, lane by lane on vectors."""

from __future__ import annotations

from xtc.codegen.c.expression import Expression, binary, call
from xtc.codegen.c.lanes import computed, narrowed, splat, widened
from xtc.codegen.c.printer import Printer, Rule
from xtc.codegen.c.types import CType
from xtc.ir.mlir import Operation

_FUNCTIONS = {
    "arith.remf": "fmod",
    "math.acos": "acos",
    "math.acosh": "acosh",
    "math.asin": "asin",
    "math.asinh": "asinh",
    "math.atanh": "atanh",
    "math.absf": "fabs",
    "math.atan": "atan",
    "math.atan2": "atan2",
    "math.ceil": "ceil",
    "math.copysign": "copysign",
    "math.cos": "cos",
    "math.erf": "erf",
    "math.erfc": "erfc",
    "math.exp": "exp",
    "math.exp2": "exp2",
    "math.expm1": "expm1",
    "math.floor": "floor",
    "math.log": "log",
    "math.log10": "log10",
    "math.log1p": "log1p",
    "math.log2": "log2",
    "math.powf": "pow",
    "math.round": "round",
    # Half to even is the initial rounding mode of programs; C has roundeven only since C23.
    "math.roundeven": "rint",
    "math.sin": "sin",
    "math.sinh": "sinh",
    "math.cosh": "cosh",
    "math.sqrt": "sqrt",
    "math.tan": "tan",
    "math.tanh": "tanh",
    "math.trunc": "trunc",
}
_PARAMETERS = "xyz"


def _function(printer: Printer, op: Operation) -> None:
    name = _FUNCTIONS[op.name]
    value = _call(printer, name, printer.operands(op), printer.type_of(op.results[0]))
    _define(printer, op, value, name)


def _rsqrt(printer: Printer, op: Operation) -> None:
    type = printer.type_of(op.results[0])
    root = _call(printer, "sqrt", [printer.expression(op.operands[0])], type)
    unit = Expression("1.0" if type.element == "f64" else "1.0f")
    _define(printer, op, binary("/", unit, root), "rsqrt")


def _call(printer: Printer, name: str, values: list[Expression], type: CType) -> Expression:
    """A call with f16 and bf16 operands widened to float."""
    wide = computed(type)
    arguments = [widened(printer.prelude, value, type) for value in values]
    function = name if wide.element == "f64" else f"{name}f"
    printer.prelude.include("math.h")
    if not wide.lanes:
        return call(function, *arguments)
    if all(operand.scalar is not None for operand in arguments):
        scalars = [operand.scalar for operand in arguments if operand.scalar is not None]
        return splat(printer.prelude, call(function, *scalars), wide)
    lanes = printer.prelude.by_lane(function, name, wide, _PARAMETERS[: len(arguments)])
    return call(lanes, *arguments)


def _define(printer: Printer, op: Operation, value: Expression, hint: str) -> None:
    (result,) = op.results
    printer.define(
        result, narrowed(printer.prelude, value, printer.type_of(result)), f"{hint}_value"
    )


RULES: dict[str, Rule] = {**dict.fromkeys(_FUNCTIONS, _function), "math.rsqrt": _rsqrt}
