# SPDX-License-Identifier: Apache-2.0
"""Comparisons of the arith dialect in C; vector comparisons give integers, -1 for true."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.codegen.c.expression import Expression, binary, cast, unary, with_mask
from xtc.codegen.c.lanes import computed, widened, without_splats
from xtc.codegen.c.printer import Printer, Rule
from xtc.codegen.c.types import CType, literal
from xtc.ir.mlir import IntegerAttr, Operation, Value

# By the number of arith's predicate. C operators other than != are false if an operand is NaN.
_DIRECT = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
_NEGATED = {9: "<=", 10: "<", 11: ">=", 12: ">"}
_FALSE, _UNEQUAL, _ORDERED, _NOT_UNEQUAL, _UNORDERED, _TRUE = 0, 6, 7, 8, 14, 15
_INTEGER = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_FIRST_UNSIGNED = 6


@dataclass(frozen=True)
class _Comparisons:
    """Writes comparisons of values of a type, and their conjunctions."""

    printer: Printer
    type: CType

    def compare(self, operator: str, a: Expression, b: Expression) -> Expression:
        truth = binary(operator, *without_splats(a, b))
        if not self.type.lanes:
            return truth
        if a.scalar is not None and b.scalar is not None:
            truth = binary(operator, a, b)
        return with_mask(cast(self.printer.prelude.type(self.type.mask), truth), self.type.bits)

    def both(self, a: Expression, b: Expression) -> Expression:
        return self._join("&&", a, b)

    def either(self, a: Expression, b: Expression) -> Expression:
        return self._join("||", a, b)

    def no(self, a: Expression) -> Expression:
        if not self.type.lanes:
            return unary("!", a)
        return with_mask(unary("~", a), self.type.bits)

    def _join(self, operator: str, a: Expression, b: Expression) -> Expression:
        if not self.type.lanes:
            return binary(operator, a, b)
        return with_mask(binary(operator[0], a, b), self.type.bits)


def _cmpf(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    number = IntegerAttr(op.attributes["predicate"]).value
    type = printer.type_of(op.operands[0])
    if number in (_FALSE, _TRUE):
        printer.operands(op)
        printer.set(result, literal(number, CType("i1")))
        return
    repeated = number not in _DIRECT and number not in _NEGATED
    values = (
        [printer.atom(operand) for operand in op.operands] if repeated else printer.operands(op)
    )
    a, b = (widened(printer.prelude, operand, type) for operand in values)
    truth = _float_comparison(_Comparisons(printer, computed(type)), number, a, b)
    printer.define(result, truth, "truth")


def _float_comparison(
    comparisons: _Comparisons, number: int, a: Expression, b: Expression
) -> Expression:
    compare = comparisons.compare
    if number in _DIRECT:
        return compare(_DIRECT[number], a, b)
    if number in _NEGATED:
        return comparisons.no(compare(_NEGATED[number], a, b))
    if number == _ORDERED:
        return comparisons.both(compare("==", a, a), compare("==", b, b))
    if number == _UNORDERED:
        return comparisons.either(compare("!=", a, a), compare("!=", b, b))
    unequal = comparisons.either(compare("<", a, b), compare(">", a, b))
    return unequal if number == _UNEQUAL else comparisons.no(unequal)


def _cmpi(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    number = IntegerAttr(op.attributes["predicate"]).value
    type = printer.type_of(op.operands[0])
    if type.lanes and (number >= _FIRST_UNSIGNED or type.element == "i1"):
        raise printer.error(op, "this comparison of vectors cannot be written in C")
    known = None if type.lanes else _known(number, op.operands[1], type)
    if known is not None:
        printer.expression(op.operands[0])
        printer.set(result, literal(known, CType("i1")))
        return
    a, b = printer.operands(op)
    if number >= _FIRST_UNSIGNED and type.element != "i1":
        unsigned = "size_t" if type.element == "index" else f"uint{type.bits}_t"
        printer.prelude.include("stdint.h")
        a, b = cast(unsigned, a), cast(unsigned, b)
    printer.define(result, _Comparisons(printer, type).compare(_INTEGER[number], a, b), "truth")


def _known(number: int, limit: Value, type: CType) -> bool | None:
    """The result of a comparison with the type's limit, which compilers warn about, or None."""
    if getattr(limit.owner, "name", "") != "arith.constant" or type.element in ("i1", "index"):
        return None
    value, operator = IntegerAttr(limit.owner.attributes["value"]).value, _INTEGER[number]
    if number >= _FIRST_UNSIGNED:
        least, greatest = 0, -1
    else:
        least, greatest = -(1 << type.bits - 1), (1 << type.bits - 1) - 1
    if (value, operator) in ((least, "<"), (greatest, ">")):
        return False
    return True if (value, operator) in ((least, ">="), (greatest, "<=")) else None


RULES: dict[str, Rule] = {"arith.cmpf": _cmpf, "arith.cmpi": _cmpi}
