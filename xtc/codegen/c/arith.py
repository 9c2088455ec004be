# SPDX-License-Identifier: Apache-2.0
"""The arith dialect in C: constants, and arithmetic on scalars and vectors.

f16 and bf16 are computed as float and rounded after each operation, with the same results as
arithmetic in these types. Signed overflow wraps with the compiler flag -fwrapv.
"""

from __future__ import annotations

import math

from xtc.codegen.c.expression import Expression, binary, call, cast, choice, unary, with_mask
from xtc.codegen.c.lanes import computed, mask, narrowed, splat, widened, without_splats
from xtc.codegen.c.printer import Printer, Rule
from xtc.codegen.c.types import CType, number_literal
from xtc.ir.mlir import DenseElementsAttr, Operation, Value

_FLOAT = {
    "arith.addf": ("+", "sum"),
    "arith.subf": ("-", "difference"),
    "arith.mulf": ("*", "product"),
    "arith.divf": ("/", "quotient"),
}
_INTEGER = {
    "arith.addi": ("+", "sum"),
    "arith.subi": ("-", "difference"),
    "arith.muli": ("*", "product"),
    "arith.divsi": ("/", "quotient"),
    "arith.remsi": ("%", "remainder"),
    "arith.andi": ("&", "bits"),
    "arith.ori": ("|", "bits"),
    "arith.xori": ("^", "bits"),
    "arith.shrsi": (">>", "bits"),
}
_UNSIGNED = {
    "arith.divui": ("/", "quotient"),
    "arith.remui": ("%", "remainder"),
    "arith.shli": ("<<", "bits"),
    "arith.shrui": (">>", "bits"),
}
_TRUTH = {"arith.andi": "&&", "arith.ori": "||", "arith.xori": "!="}
_INTEGER_EXTREMES = {
    "arith.maxsi": "maximum",
    "arith.minsi": "minimum",
    "arith.maxui": "umaximum",
    "arith.minui": "uminimum",
}
_FLOAT_EXTREMES = {"arith.maximumf": "maximum", "arith.minimumf": "minimum"}
_DIVISIONS = {"arith.floordivsi": "floor_div", "arith.ceildivsi": "ceil_div"}


def _constant(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    value, type = op.attributes["value"], printer.type_of(result)
    if not isinstance(value, DenseElementsAttr):
        printer.set(result, number_literal(value, type))
        return
    if not value.is_splat:
        raise printer.error(op, "a vector of different constants cannot be written in C")
    scalar = number_literal(value.get_splat_value(), type.scalar)
    printer.set(result, splat(printer.prelude, scalar, type))


def _poison(printer: Printer, op: Operation) -> None:
    """Poison may be any value."""
    printer.set(op.results[0], Expression("0"))


def _float(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    operator, hint = _FLOAT[op.name]
    type = printer.type_of(result)
    a, b = (widened(printer.prelude, operand, type) for operand in printer.operands(op))
    computed_value = binary(operator, *without_splats(a, b))
    printer.define(result, narrowed(printer.prelude, computed_value, type), hint)


def _negf(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    type = printer.type_of(result)
    (a,) = printer.operands(op)
    negative = unary("-", widened(printer.prelude, a, type))
    printer.define(result, narrowed(printer.prelude, negative, type), "negative")


def _integer(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    operator, hint = _INTEGER[op.name]
    type = printer.type_of(result)
    a, b = printer.operands(op)
    if type.element == "i1":
        b = _unconditional(printer, op.operands[1])
        printer.define(result, _boolean(printer, op, a, b, type), "truth")
        return
    value = binary(operator, *without_splats(a, b))
    printer.define(result, _wrapped(printer, value, type), hint)


def _wrapped(printer: Printer, value: Expression, type: CType) -> Expression:
    """Cast back to a type narrower than int, which C promotes to int."""
    narrow = not type.lanes and type.bits < 32
    return cast(printer.prelude.type(type), value) if narrow else value


def _boolean(
    printer: Printer, op: Operation, a: Expression, b: Expression, type: CType
) -> Expression:
    """And, or and exclusive or of i1."""
    if op.name not in _TRUTH:
        raise printer.error(op, f"{op.name} of i1 cannot be written in C")
    if not type.lanes:
        if op.name == "arith.xori" and b.text == "true":
            return unary("!", a)
        return binary(_TRUTH[op.name], a, b)
    bits = max(a.mask_bits, b.mask_bits) or 8
    lanes = type.with_element(f"i{bits}")
    a, b = (mask(printer.prelude, operand, lanes) for operand in (a, b))
    return with_mask(binary(_INTEGER[op.name][0], a, b), bits)


def _unsigned(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    operator, hint = _UNSIGNED[op.name]
    type = printer.type_of(result)
    if type.lanes:
        raise printer.error(op, f"{op.name} of vectors cannot be written in C")
    a, b = printer.operands(op)
    a = _as_unsigned(printer, a, type)
    b = b if operator in ("<<", ">>") else _as_unsigned(printer, b, type)
    printer.define(result, cast(printer.prelude.type(type), binary(operator, a, b)), hint)


def _as_unsigned(printer: Printer, a: Expression, type: CType) -> Expression:
    printer.prelude.include("stdint.h")
    return cast("size_t" if type.element == "index" else f"uint{type.bits}_t", a)


def _division(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    if printer.type_of(result) != CType("index"):
        raise printer.error(op, f"{op.name} of {result.type} cannot be written in C")
    name = printer.prelude.division(_DIVISIONS[op.name])
    printer.define(result, call(name, *printer.operands(op)), "quotient")


def _integer_extreme(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    kind = _INTEGER_EXTREMES[op.name]
    name = printer.prelude.extreme(kind, printer.type_of(result))
    printer.define(result, call(name, *printer.operands(op)), kind.removeprefix("u"))


def _float_extreme(printer: Printer, op: Operation) -> None:
    """NaN if either is NaN; one comparison suffices with a constant."""
    (result,) = op.results
    kind, type = _FLOAT_EXTREMES[op.name], printer.type_of(result)
    if not type.lanes and not type.is_half and _is_plain_constant(op.operands[1]):
        value, limit = printer.atom(op.operands[0]), printer.expression(op.operands[1])
        beyond = binary("<=" if kind == "maximum" else ">=", value, limit)
        printer.define(result, choice(beyond, limit, value), kind)
        return
    name = printer.prelude.extreme(kind, computed(type))
    a, b = (widened(printer.prelude, operand, type) for operand in printer.operands(op))
    printer.define(result, narrowed(printer.prelude, call(name, a, b), type), kind)


def _is_plain_constant(value: Value) -> bool:
    """Whether a value is a constant other than NaN and -0; both operators turn ±0 into +0."""
    owner = value.owner
    if getattr(owner, "name", "") != "arith.constant":
        return False
    number = float(owner.attributes["value"].value)
    return not math.isnan(number) and (number != 0 or math.copysign(1, number) > 0)


def _select(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    type = printer.type_of(result)
    if not printer.type_of(op.operands[0]).lanes:
        a, b = (_unconditional(printer, operand) for operand in op.operands[1:])
        condition = printer.expression(op.operands[0])
        printer.define(result, choice(condition, a, b), "choice")
        return
    condition, a, b = printer.operands(op)
    if type.element == "i1":
        raise printer.error(op, "arith.select of vectors of i1 cannot be written in C")
    wanted = mask(printer.prelude, condition, type.mask)
    printer.define(result, call(printer.prelude.select(type), wanted, a, b), "choice")


def _unconditional(printer: Printer, value: Value) -> Expression:
    """A value, as a variable if it reads memory or is a conditional expression.

    MLIR evaluates both operands of a select. C would evaluate one, and a load under a condition is
    slower.
    """
    found = printer.expression(value)
    return printer.atom(value) if found.reads or " ? " in found.text else found


RULES: dict[str, Rule] = {
    "arith.constant": _constant,
    "ub.poison": _poison,
    **dict.fromkeys(_FLOAT, _float),
    "arith.negf": _negf,
    **dict.fromkeys(_INTEGER, _integer),
    **dict.fromkeys(_UNSIGNED, _unsigned),
    **dict.fromkeys(_DIVISIONS, _division),
    **dict.fromkeys(_INTEGER_EXTREMES, _integer_extreme),
    **dict.fromkeys(_FLOAT_EXTREMES, _float_extreme),
    "arith.select": _select,
}
