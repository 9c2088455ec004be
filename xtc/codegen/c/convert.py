# SPDX-License-Identifier: Apache-2.0
"""Conversions of the arith dialect in C."""

from __future__ import annotations

from xtc.codegen.c.expression import POSTFIX, Expression, binary, cast
from xtc.codegen.c.lanes import converted, mask, narrowed, widened
from xtc.codegen.c.printer import Printer, Rule
from xtc.codegen.c.types import CType, literal
from xtc.ir.mlir import Operation


def _sides(printer: Printer, op: Operation) -> tuple[Expression, CType, CType]:
    """The operand, its type and the result type."""
    (operand,), (result,) = op.operands, op.results
    return printer.expression(operand), printer.type_of(operand), printer.type_of(result)


def _define(printer: Printer, op: Operation, value: Expression) -> None:
    printer.define(op.results[0], value, printer.hint(op.operands[0]))


def _extf(printer: Printer, op: Operation) -> None:
    value, source, target = _sides(printer, op)
    wide = widened(printer.prelude, value, source)
    if target.element == "f64":
        wide = converted(printer.prelude, wide, target)
    _define(printer, op, wide)


def _truncf(printer: Printer, op: Operation) -> None:
    value, source, target = _sides(printer, op)
    if target.element == "bf16" and source.element != "f32":
        raise printer.error(op, f"rounding {source.element} to bf16 cannot be written in C")
    if target.is_half and source.element == "f32":
        _define(printer, op, narrowed(printer.prelude, value, target))
    else:
        _define(printer, op, converted(printer.prelude, value, target))


def _sitofp(printer: Printer, op: Operation) -> None:
    value, source, target = _sides(printer, op)
    if source.element == "i1":
        raise printer.error(op, "arith.sitofp of i1 cannot be written in C")
    _define(printer, op, _to_float(printer, value, target))


def _uitofp(printer: Printer, op: Operation) -> None:
    value, source, target = _sides(printer, op)
    if source.lanes:
        value = _unsigned_lanes(printer, op, value, source, target.with_element("i32"))
    elif source.element != "i1":
        value = cast(f"uint{source.bits}_t", value)
    _define(printer, op, _to_float(printer, value, target))


def _to_float(printer: Printer, value: Expression, target: CType) -> Expression:
    """A conversion to a half float through float, as operators define it."""
    if not target.is_half:
        return converted(printer.prelude, value, target)
    wide = converted(printer.prelude, value, target.with_element("f32"))
    return narrowed(printer.prelude, wide, target)


def _extsi(printer: Printer, op: Operation) -> None:
    value, source, target = _sides(printer, op)
    if source.element == "i1":
        raise printer.error(op, "arith.extsi of i1 cannot be written in C")
    _define(printer, op, converted(printer.prelude, value, target))


def _extui(printer: Printer, op: Operation) -> None:
    value, source, target = _sides(printer, op)
    if target.lanes:
        _define(printer, op, _unsigned_lanes(printer, op, value, source, target))
        return
    if source.element != "i1":
        value = cast(f"uint{source.bits}_t", value)
    _define(printer, op, converted(printer.prelude, value, target))


def _unsigned_lanes(
    printer: Printer, op: Operation, value: Expression, source: CType, target: CType
) -> Expression:
    """Zero-extended integer lanes."""
    if source.element == "i1":
        return binary("&", mask(printer.prelude, value, target), Expression("1"))
    if source.bits > 16:
        raise printer.error(op, "unsigned vectors cannot be written in C")
    wide = converted(printer.prelude, value, target)
    return binary("&", wide, Expression(hex((1 << source.bits) - 1)))


def _bitcast(printer: Printer, op: Operation) -> None:
    value, source, target = _sides(printer, op)
    if target.lanes:  # a C cast between vectors of equal size keeps the bits
        _define(printer, op, cast(target.name, value))
        return
    text = f"((union {{ {source.name} from; {target.name} to; }}){{{value.text}}}).to"
    _define(printer, op, Expression(text, POSTFIX, value.reads))


def _trunci(printer: Printer, op: Operation) -> None:
    value, _, target = _sides(printer, op)
    if target.element == "i1":
        if target.lanes:
            raise printer.error(op, "arith.trunci to a vector of i1 cannot be written in C")
        low = binary("&", value, literal(1, CType("i32")))
        value = binary("!=", low, literal(0, CType("i32")))
        _define(printer, op, value)
        return
    _define(printer, op, converted(printer.prelude, value, target))


def _fptosi(printer: Printer, op: Operation) -> None:
    value, source, target = _sides(printer, op)
    wide = widened(printer.prelude, value, source)
    _define(printer, op, converted(printer.prelude, wide, target))


def _fptoui(printer: Printer, op: Operation) -> None:
    value, source, target = _sides(printer, op)
    if target.lanes:
        raise printer.error(op, "unsigned vectors cannot be written in C")
    wide = widened(printer.prelude, value, source)
    unsigned = cast(f"uint{target.bits}_t", wide)
    _define(printer, op, converted(printer.prelude, unsigned, target))


def _index_cast(printer: Printer, op: Operation) -> None:
    value, _, target = _sides(printer, op)
    _define(printer, op, converted(printer.prelude, value, target))


RULES: dict[str, Rule] = {
    "arith.bitcast": _bitcast,
    "arith.extf": _extf,
    "arith.truncf": _truncf,
    "arith.sitofp": _sitofp,
    "arith.uitofp": _uitofp,
    "arith.extsi": _extsi,
    "arith.extui": _extui,
    "arith.trunci": _trunci,
    "arith.fptosi": _fptosi,
    "arith.fptoui": _fptoui,
    "arith.index_cast": _index_cast,
}
