# SPDX-License-Identifier: Apache-2.0
"""Unary and binary operators, on constants and in code."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.code import llvm_type
from xtc_targets.wse.sema.convert import coerce, peer, rounded
from xtc_targets.wse.sema.costs import cost_of
from xtc_targets.wse.sema.values import Address, Const, Items, Run, Value, boolean

if TYPE_CHECKING:
    from xtc_targets.wse.sema.frame import Frame

_COMPARISONS: dict[str, tuple[Callable[[Any, Any], bool], str, str]] = {
    "==": (operator.eq, "eq", "oeq"),
    "!=": (operator.ne, "ne", "une"),
    "<": (operator.lt, "lt", "olt"),
    "<=": (operator.le, "le", "ole"),
    ">": (operator.gt, "gt", "ogt"),
    ">=": (operator.ge, "ge", "oge"),
}
_INSTRUCTIONS = {
    "+": ("add", "fadd"), "-": ("sub", "fsub"), "*": ("mul", "fmul"), "/": ("div", "fdiv"),
    "%": ("rem", "frem"), "&": ("and", ""), "|": ("or", ""), "^": ("xor", ""),
    "<<": ("shl", ""), ">>": ("shr", ""),
}  # fmt: skip
_LONGEST = 1 << 16  # maximum bits of a compile-time integer


def binary(frame: Frame, op: str, left: Value, right: Value, at: Position) -> Value:
    """Any binary operator except `and` and `or`. Raises CslError."""
    if op in ("++", "**"):
        return _joined(op, left, right, at)
    if op in ("<<", ">>"):
        return _shift(frame, op, left, right, at)
    if op in _COMPARISONS and left.type == right.type and not t.is_number(left.type):
        return _compared(frame, op, left, right, left.type, at)
    kind = peer(left.type, right.type, at)
    if op in _COMPARISONS:
        return _compared(frame, op, left, right, kind, at)
    if not t.is_number(kind) or (t.is_float(kind) and not _INSTRUCTIONS[op][1]):
        raise CslError(f"{op} does not work on {kind}", where=at)
    left, right = coerce(frame, left, kind, at), coerce(frame, right, kind, at)
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(kind, _folded(op, left.value, right.value, kind, at))
    return _computed(frame, op, left, right, kind, at)


def _computed(frame: Frame, op: str, left: Value, right: Value, kind: t.Type, at: Position) -> Run:
    code = frame.running(at)
    first, second = frame.operand(left, kind, at), frame.operand(right, kind, at)
    instruction = _INSTRUCTIONS[op][isinstance(kind, t.Float)]
    if isinstance(kind, t.Int) and op in ("/", "%"):
        instruction = ("s" if kind.signed else "u") + instruction
        if not isinstance(right, Const):
            second = code.call(
                llvm_type(kind), f"wse_divisor_{kind.bits}", f"{llvm_type(kind)} {second}"
            )
            frame.program.divisors.add(kind.bits)
    text = f"{instruction} {llvm_type(kind)} {first}, {second}"
    return Run(kind, code.value(text, cost_of(op, kind)))


def _folded(op: str, left: Any, right: Any, kind: t.Type, at: Position) -> Any:
    try:
        result = _FOLD[op](left, right)
    except ZeroDivisionError:
        if t.is_float(kind):
            return _float_by_zero(op, left)
        raise CslError("division by zero", where=at) from None
    except OverflowError:
        raise CslError("the number is too large for a float", where=at) from None
    if isinstance(kind, t.Float):
        return rounded(result, kind)
    if isinstance(kind, t.Int) and not kind.lowest <= result <= kind.highest:
        raise CslError(f"{left} {op} {right} does not fit in {kind}", where=at)
    if kind == t.COMPTIME_INT and result.bit_length() > _LONGEST:
        raise CslError(f"the integer has more than {_LONGEST} bits", where=at)
    return result


def _float_by_zero(op: str, left: float) -> float:
    return math.nan if op == "%" or not left or math.isnan(left) else math.copysign(math.inf, left)


def _divide(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        return math.fmod(left, right)
    return left - right * _divide(left, right)


_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": _remainder,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip


def _compared(
    frame: Frame, op: str, left: Value, right: Value, kind: t.Type, at: Position
) -> Value:
    compare, whole, real = _COMPARISONS[op]
    left, right = coerce(frame, left, kind, at), coerce(frame, right, kind, at)
    if (
        isinstance(left, Const)
        and isinstance(right, Const)
        and (not isinstance(left.value, Address))
    ):
        ordered = t.is_number(kind) or isinstance(kind, t.Enum | t.Handle)
        if not ordered and op not in ("==", "!="):
            raise CslError(f"{op} does not work on {kind}", where=at)
        return boolean(compare(left.value, right.value))
    if t.is_aggregate(kind) or not t.is_runtime(kind):
        raise CslError(f"{op} does not work on {kind}", where=at)
    code = frame.running(at)
    first, second = frame.operand(left, kind, at), frame.operand(right, kind, at)
    if isinstance(kind, t.Float):
        text = f"fcmp {real} {llvm_type(kind)} {first}, {second}"
    else:
        base = kind.base if isinstance(kind, t.Enum) else kind
        signed = isinstance(base, t.Int) and base.signed
        whole = whole if whole in ("eq", "ne") else ("s" if signed else "u") + whole
        text = f"icmp {whole} {llvm_type(kind)} {first}, {second}"
    return Run(t.BOOL, code.value(text, cost_of(op, kind)))


def _shift(frame: Frame, op: str, left: Value, right: Value, at: Position) -> Value:
    kind = left.type
    if not t.is_integer(kind) or not t.is_integer(right.type):
        raise CslError(f"{op} does not work on {kind} and {right.type}", where=at)
    if isinstance(right, Const):
        highest = kind.bits - 1 if isinstance(kind, t.Int) else _LONGEST
        if not 0 <= right.value <= highest:
            raise CslError(f"a shift by {right.value} bits", where=at, notes=[f"of a {kind}"])
    if isinstance(left, Const) and isinstance(right, Const):
        whole = left.value << right.value if op == "<<" else left.value >> right.value
        if kind == t.COMPTIME_INT and whole.bit_length() > _LONGEST:
            raise CslError(f"the integer has more than {_LONGEST} bits", where=at)
        return Const(kind, kind.wrapped(whole) if isinstance(kind, t.Int) else whole)
    if not isinstance(kind, t.Int):
        raise CslError(
            "the shifted value has no type",
            where=at,
            hints=["@as(u32, ...) gives it one"],
        )
    code = frame.running(at)
    amount = _shift_amount(frame, right, kind, at)
    instruction = "shl" if op == "<<" else "ashr" if kind.signed else "lshr"
    text = f"{instruction} {llvm_type(kind)} {frame.operand(left, kind, at)}, {amount}"
    return Run(kind, code.value(text, cost_of(op, kind)))


def _shift_amount(frame: Frame, right: Value, kind: t.Int, at: Position) -> str:
    """The amount as `kind`, modulo its width, because larger shifts are undefined in LLVM."""
    if isinstance(right, Const):
        return str(right.value)
    from xtc_targets.wse.sema.convert import convert

    code = frame.running(at)
    whole = convert(frame, right, t.Int(kind.bits, False), at)
    text = frame.operand(whole, whole.type, at)
    return code.value(f"and {llvm_type(kind)} {text}, {kind.bits - 1}")


def _joined(op: str, left: Value, right: Value, at: Position) -> Const:
    if isinstance(left, Const) and isinstance(right, Const):
        if op == "++" and left.type == right.type == t.STRING:
            return Const(t.STRING, left.value + right.value)
        if op == "++" and isinstance(left.type, t.Array) and isinstance(right.type, t.Array):
            shape = (left.type.shape[0] + right.type.shape[0],)
            return Const(
                t.Array(shape, left.type.element), Items(left.value.flat + right.value.flat)
            )
        if op == "++" and left.type == right.type == t.ANONYMOUS:
            parts = [*left.value.values(), *right.value.values()]
            return Const(t.ANONYMOUS, {str(i): part for i, part in enumerate(parts)})
    raise CslError(f"{op} does not work on {left.type} and {right.type}", where=at)


def unary(frame: Frame, op: str, value: Value, at: Position) -> Value:
    """`-`, `!` and `~`. Raises CslError."""
    kind = value.type
    works = {"-": t.is_number(kind), "~": t.is_integer(kind), "!": kind == t.BOOL}[op]
    if not works:
        raise CslError(f"{op} does not work on {kind}", where=at)
    if isinstance(value, Const):
        return Const(kind, _folded_unary(op, value.value, kind, at))
    code, text = frame.running(at), frame.operand(value, kind, at)
    instruction = {
        "-": f"fneg {llvm_type(kind)} {text}" if t.is_float(kind) else f"sub {kind} 0, {text}",
        "~": f"xor {llvm_type(kind)} {text}, -1",
        "!": f"xor i1 {text}, true",
    }[op]
    if op == "-" and isinstance(kind, t.Int):
        instruction = f"sub {llvm_type(kind)} 0, {text}"
    return Run(kind, code.value(instruction, cost_of(op, kind)))


def _folded_unary(op: str, value: Any, kind: t.Type, at: Position) -> Any:
    if op == "!":
        return not value
    if op == "~":
        return kind.wrapped(~value) if isinstance(kind, t.Int) else ~value
    if isinstance(kind, t.Int) and not kind.lowest <= -value <= kind.highest:
        raise CslError(f"-{value} does not fit in {kind}", where=at)
    return -value
