# SPDX-License-Identifier: Apache-2.0
"""Evaluates expressions: to constants if all operands are known, otherwise to code for the PE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtc.core.errors import did_you_mean
from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.sema import arithmetic
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.convert import coerce, peer
from xtc_targets.wse.sema.costs import BRANCH
from xtc_targets.wse.sema.frame import Frame, Memory
from xtc_targets.wse.sema.lvalues import addressed, load, location_of
from xtc_targets.wse.sema.values import (
    VOID,
    AccessValue,
    Address,
    Cell,
    Const,
    FunctionValue,
    Items,
    Run,
    Value,
    boolean,
    type_value,
)

_MOST = 1 << 20
"""The most elements of a compile-time array."""

DIRECTIONS = {"EAST": 0, "WEST": 1, "NORTH": 2, "SOUTH": 3, "RAMP": 4}


def evaluate(frame: Frame, expr: tree.Expr) -> Value:
    """The value of an expression. Raises CslError."""
    frame.program.tick(expr.at)
    return _KINDS[type(expr)](frame, expr)


def evaluate_as(frame: Frame, expr: tree.Expr, kind: t.Type | None) -> Value:
    """The value of an expression; a run-time choice between untyped numbers becomes a `kind`."""
    frame.wanted = kind if isinstance(expr, tree.IfExpr | tree.SwitchExpr) else None
    try:
        return evaluate(frame, expr)
    finally:
        frame.wanted = None


def known(frame: Frame, expr: tree.Expr, what: str) -> Const:
    """The value of an expression that must be known at compile time."""
    value = evaluate(frame, expr)
    if not isinstance(value, Const):
        raise CslError(f"{what} must be known at compile time", where=expr.at)
    return value


def type_of(frame: Frame, expr: tree.Expr) -> t.Type:
    """The type that an expression denotes. Raises CslError."""
    value = known(frame, expr, "a type")
    if value.type != t.TYPE:
        raise CslError(f"a type is expected here, not a {value.type}", where=expr.at)
    kind: t.Type = value.value
    return kind


def known_int(frame: Frame, expr: tree.Expr, what: str) -> int:
    """The value of an expression that must be a known integer."""
    return integer_of(known(frame, expr, what), what, expr.at)


def integer_of(value: Value, what: str, at: Position) -> int:
    """A known integer, or the number of a handle."""
    if not isinstance(value, Const) or not (
        t.is_integer(value.type) or isinstance(value.type, t.Handle | t.Enum)
    ):
        raise CslError(f"{what} must be an integer that is known at compile time", where=at)
    return int(value.value)


def condition(frame: Frame, expr: tree.Expr) -> Value:
    """The value of an expression of type bool."""
    value = evaluate(frame, expr)
    if value.type != t.BOOL:
        raise CslError(f"a condition must be a bool, not a {value.type}", where=expr.at)
    return value


def _number(frame: Frame, expr: tree.Number) -> Value:
    kind = t.COMPTIME_FLOAT if isinstance(expr.value, float) else t.COMPTIME_INT
    return Const(kind, expr.value)


def _string(frame: Frame, expr: tree.String) -> Value:
    return Const(t.STRING, expr.value)


def _name(frame: Frame, expr: tree.Name) -> Value:
    binding = frame.scope.find(expr.name)
    if isinstance(binding, Const | Run):
        return binding
    if isinstance(binding, Cell):
        return binding.value
    if binding is not None:
        return frame.load(binding, expr.at)
    if frame.module.has(expr.name):
        found = frame.module.member(expr.name, expr.at)
        return found if isinstance(found, Const | Run) else load(frame, found, expr.at)
    return _built_in_name(frame, expr)


def _built_in_name(frame: Frame, expr: tree.Name) -> Value:
    if (kind := t.named(expr.name)) is not None:
        return type_value(kind)
    if expr.name in ("true", "false"):
        return boolean(expr.name == "true")
    if expr.name in DIRECTIONS:
        return Const(t.DIRECTION, DIRECTIONS[expr.name])
    raise CslError(
        f"there is no '{expr.name}' here",
        where=expr.at,
        hints=did_you_mean(expr.name, frame.module.names()),
    )


def _located(frame: Frame, expr: tree.Expr) -> Value:
    found = location_of(frame, expr)
    return found if isinstance(found, Const | Run) else load(frame, found, expr.at)


def _unary(frame: Frame, expr: tree.Unary) -> Value:
    if expr.op != "&":
        return arithmetic.unary(frame, expr.op, evaluate(frame, expr.operand), expr.at)
    found = addressed(frame, expr.operand)
    if isinstance(found, Const) and isinstance(found.value, FunctionValue):
        return found
    if isinstance(found, Const) and t.is_runtime(found.type):
        constant = frame.program.constant(found, expr.at)
        return Const(t.Pointer(found.type, const=True), Address(constant))
    if not isinstance(found, Memory):
        raise CslError("this has no address on the PE", where=expr.at)
    kind = t.Pointer(found.type, const=found.const)
    if isinstance(found.address, Address):
        return Const(kind, found.address)
    return Run(kind, found.address)


def _binary(frame: Frame, expr: tree.Binary) -> Value:
    if expr.op in ("and", "or"):
        return _logical(frame, expr)
    left = evaluate(frame, expr.left)
    return arithmetic.binary(frame, expr.op, left, evaluate(frame, expr.right), expr.at)


def _logical(frame: Frame, expr: tree.Binary) -> Value:
    left = condition(frame, expr.left)
    decides = expr.op == "or"
    if isinstance(left, Const):
        return left if left.value is decides else condition(frame, expr.right)
    code = frame.running(expr.at)
    slot = code.slot("i1")
    code.line(f"store i1 {left.text}, ptr {slot}")
    more, end = code.new_block("more"), code.new_block("known")
    code.charge(BRANCH)
    code.branch(left.text, *((end, more) if decides else (more, end)))
    code.start(more)
    right = condition(frame, expr.right)
    code.line(f"store i1 {frame.operand(right, t.BOOL, expr.at)}, ptr {slot}")
    code.jump(end)
    code.start(end)
    return Run(t.BOOL, code.value(f"load i1, ptr {slot}"))


def _if(frame: Frame, expr: tree.IfExpr) -> Value:
    wanted, test = frame.wanted, condition(frame, expr.condition)
    frame.wanted = wanted
    if isinstance(test, Const):
        if test.value:
            return evaluate(frame, expr.then)
        return VOID if expr.otherwise is None else evaluate(frame, expr.otherwise)
    if expr.otherwise is None:
        raise CslError("this expression has no else", where=expr.at)
    code = frame.running(expr.at)
    then, otherwise = code.new_block("then"), code.new_block("else")
    code.charge(BRANCH)
    code.branch(test.text, then, otherwise)
    branches = []
    for block, part in ((then, expr.then), (otherwise, expr.otherwise)):
        code.start(block)
        branches.append((evaluate_as(frame, part, wanted), code.block))
    frame.wanted = wanted
    return merged(frame, branches, expr.at)


def merged(frame: Frame, branches: list[tuple[Value, Any]], at: Position) -> Value:
    """The merged value of several blocks, which continue in a common block."""
    code = frame.running(at)
    kind = branches[0][0].type
    for value, _ in branches[1:]:
        kind = peer(kind, value.type, at)
    if kind in (t.COMPTIME_INT, t.COMPTIME_FLOAT) and frame.wanted is not None:
        kind = frame.wanted
    if not t.is_runtime(kind) and kind != t.VOID:
        raise CslError(
            f"the {kind} must be known at compile time",
            where=at,
            hints=["@as(i16, ...) or another type makes it a run-time number"],
        )
    end = code.new_block("end")
    slot = code.slot(f"[{max(kind.size, 1)} x i8]")
    for value, block in branches:
        code.start(block)
        if kind != t.VOID:
            frame.store_at(slot, coerce(frame, value, kind, at), kind, at)
        code.jump(end)
    code.start(end)
    if kind == t.VOID:
        return VOID
    return Run(kind, slot if t.is_aggregate(kind) else frame.loaded(slot, kind, at, False))


def _switch(frame: Frame, expr: tree.SwitchExpr) -> Value:
    wanted, value = frame.wanted, evaluate(frame, expr.value)
    frame.wanted = wanted
    if not isinstance(value, Const):
        return _switch_at_run_time(frame, value, expr)
    body = chosen_case(frame, value, expr.cases, expr.at)
    if not isinstance(body, tree.Expr):
        raise CslError("no case of this switch matches", where=expr.at)
    return evaluate(frame, body)


def _switch_at_run_time(frame: Frame, value: Value, expr: tree.SwitchExpr) -> Value:
    code, wanted = frame.running(expr.at), frame.wanted
    branches = []
    for case in sorted(expr.cases, key=lambda each: not each.values):  # `else` is the last case
        if not isinstance(case.body, tree.Expr):
            raise CslError("a case of this switch has no value", where=case.at)
        body, following = code.new_block("case"), code.new_block("next")
        for each in case.values:
            same = arithmetic.binary(frame, "==", value, evaluate(frame, each), each.at)
            missed = code.new_block("miss")
            code.charge(BRANCH)
            code.branch(frame.operand(same, t.BOOL, each.at), body, missed)
            code.start(missed)
        code.jump(following if case.values else body)
        code.start(body)
        branches.append((evaluate_as(frame, case.body, wanted), code.block))
        code.start(following)
    frame.wanted = wanted
    code.call("void", "wse_assertion", f"i32 {expr.at.line}")
    code.unreachable()
    return merged(frame, branches, expr.at)


def chosen_case(
    frame: Frame, value: Const, cases: tuple[tree.Case, ...], at: Position
) -> tree.Stmt | tree.Expr | None:
    """The body of the case that matches a known value."""
    fallback: tree.Stmt | tree.Expr | None = None
    for case in cases:
        if not case.values:
            fallback = case.body
        for each in case.values:
            same = arithmetic.binary(frame, "==", value, known(frame, each, "a case"), each.at)
            if isinstance(same, Const) and same.value:
                return case.body
    return fallback


def _comptime(frame: Frame, expr: tree.ComptimeExpr) -> Value:
    with frame.comptime():
        return evaluate(frame, expr.value)


def _call(frame: Frame, expr: tree.Call) -> Value:
    callee = evaluate(frame, expr.callee)
    if not isinstance(callee, Const) or not isinstance(callee.value, FunctionValue):
        raise CslError(f"a {callee.type} cannot be called", where=expr.at)
    args = [evaluate(frame, each) for each in expr.args]
    return frame.program.call(frame, callee.value, args, expr.at)


def _builtin(frame: Frame, expr: tree.Builtin) -> Value:
    return frame.program.builtin(frame, expr)


def _struct(frame: Frame, expr: tree.StructLiteral) -> Value:
    parts: dict[str, Value] = {}
    for index, each in enumerate(expr.fields):
        name = each.name if each.name is not None else str(index)
        if name in parts:
            raise CslError(f"the field '{name}' is given twice", where=each.at)
        parts[name] = evaluate(frame, each.value)
    value = Const(t.ANONYMOUS, parts)
    if expr.type is None:
        return value
    return coerce(frame, value, type_of(frame, expr.type), expr.at)


def _array(frame: Frame, expr: tree.ArrayLiteral) -> Value:
    element = type_of(frame, expr.type.element)
    items = [evaluate(frame, each) for each in expr.items]
    extents = expr.type.extents
    if len(extents) == 1 and isinstance(extents[0], tree.Name) and extents[0].name == "_":
        shape: tuple[int, ...] = (len(items),)
    else:
        shape = _shape(frame, extents)
    kind = t.Array(shape, element)
    if len(shape) > 1 and len(items) == shape[0] != kind.count:
        inner = t.Array(shape[1:], element)
        return frame.array_of(kind, [coerce(frame, each, inner, expr.at) for each in items])
    if len(items) != kind.count:
        raise CslError(f"{len(items)} elements are given for {kind}", where=expr.at)
    return frame.array_of(kind, [coerce(frame, each, element, expr.at) for each in items])


def _shape(frame: Frame, extents: tuple[tree.Expr, ...]) -> tuple[int, ...]:
    shape, total = [], 1
    for each in extents:
        extent = known_int(frame, each, "the extent of an array")
        if extent < 0:
            raise CslError(f"an array of {extent} elements", where=each.at)
        total *= extent
        if total > _MOST:
            raise CslError(
                f"an array of more than {_MOST} elements",
                where=each.at,
                notes=["a PE has 48 KiB of memory"],
            )
        shape.append(extent)
    return tuple(shape)


def _array_type(frame: Frame, expr: tree.ArrayType) -> Value:
    shape = _shape(frame, expr.extents)
    element = type_of(frame, expr.element)
    if isinstance(element, t.Array):
        return type_value(t.Array(shape + element.shape, element.element))
    return type_value(t.Array(shape, element))


def _pointer_type(frame: Frame, expr: tree.PointerType) -> Value:
    return type_value(t.Pointer(type_of(frame, expr.element), expr.many, expr.const))


def _fn_type(frame: Frame, expr: tree.FnType) -> Value:
    params = tuple(type_of(frame, each) for each in expr.params)
    return type_value(t.Fn(params, type_of(frame, expr.result)))


def _struct_type(frame: Frame, expr: tree.StructType) -> Value:
    fields = tuple((each.name, type_of(frame, each.type)) for each in expr.fields)
    names = [name for name, _ in fields]
    if len(set(names)) < len(names):
        raise CslError("the struct has a duplicate field", where=expr.at)
    identity = (expr.at, fields)  # identical for every module of the file
    kind = t.Struct(identity, "struct", fields, expr.layout == "packed", expr.union)
    return type_value(kind)


def _enum_type(frame: Frame, expr: tree.EnumType) -> Value:
    base = type_of(frame, expr.base)
    if not isinstance(base, t.Int):
        raise CslError(f"an enum's type is an integer type, not {base}", where=expr.at)
    members, following = [], 0
    for each in expr.members:
        if not isinstance(each.value, tree.VoidLiteral):
            following = known_int(frame, each.value, "the value of a member")
        if not base.lowest <= following <= base.highest:
            raise CslError(f"{following} does not fit in {base}", where=each.at)
        members.append((str(each.name), following))
        following += 1
    return type_value(t.Enum(expr.at, "enum", base, tuple(members)))


def _access(frame: Frame, expr: tree.Access) -> Value:
    return Const(t.ACCESS, AccessValue(expr, frame))


def _void(frame: Frame, expr: tree.VoidLiteral) -> Value:
    return VOID


def zeros(kind: t.Type, at: Position) -> Const:
    """The zero value of a type. Raises CslError for types without one."""
    if isinstance(kind, t.Array):
        return Const(kind, Items([zeros(kind.element, at).value] * kind.count))
    if isinstance(kind, t.Struct):
        parts = {name: zeros(each, at) for name, each in kind.fields}
        if kind.union:  # the widest field covers the others
            widest = max(kind.fields, key=lambda each: each[1].size)[0]
            parts = {widest: parts[widest]}
        return Const(kind, parts)
    if isinstance(kind, t.Float):
        return Const(kind, 0.0)
    if kind == t.BOOL:
        return Const(kind, False)
    if isinstance(kind, t.Int | t.Enum | t.Handle | t.Pointer):
        return Const(kind, 0)
    raise CslError(f"{kind} has no zero value", where=at)


_KINDS: dict[type[tree.Expr], Callable[[Frame, Any], Value]] = {
    tree.Number: _number,
    tree.String: _string,
    tree.Name: _name,
    tree.Builtin: _builtin,
    tree.Call: _call,
    tree.Member: _located,
    tree.Deref: _located,
    tree.Index: _located,
    tree.Unary: _unary,
    tree.Binary: _binary,
    tree.IfExpr: _if,
    tree.SwitchExpr: _switch,
    tree.ComptimeExpr: _comptime,
    tree.StructLiteral: _struct,
    tree.ArrayLiteral: _array,
    tree.VoidLiteral: _void,
    tree.Access: _access,
    tree.ArrayType: _array_type,
    tree.PointerType: _pointer_type,
    tree.FnType: _fn_type,
    tree.StructType: _struct_type,
    tree.EnumType: _enum_type,
}
