# SPDX-License-Identifier: Apache-2.0
"""Executes statements at compile time: `layout` and `comptime` blocks, and their callees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema import arithmetic
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.convert import coerce
from xtc_targets.wse.sema.evaluate import chosen_case, condition, evaluate, known, type_of, zeros
from xtc_targets.wse.sema.frame import Frame, Part
from xtc_targets.wse.sema.lvalues import location_of, value_of
from xtc_targets.wse.sema.values import VOID, Cell, Const, RangeValue, Value, integer


@dataclass(frozen=True, slots=True)
class Exit:
    """An early exit from a statement: return, break or continue."""

    kind: str
    label: str | None = None
    value: Value = VOID


def execute(frame: Frame, statement: tree.Stmt) -> Exit | None:
    """Execute a statement; return None if it completes. Raises CslError."""
    frame.program.tick(statement.at)
    kind = _KINDS.get(type(statement))
    if kind is None:
        raise CslError("this statement is not allowed here", where=statement.at)
    return kind(frame, statement)


def _block(frame: Frame, block: tree.Block) -> Exit | None:
    with frame.block():
        for statement in block.body:
            left = execute(frame, statement)
            if left is not None:
                if left.kind == "break" and block.label and left.label == block.label:
                    return None
                return left
    return None


def _declaration(frame: Frame, declared: tree.Declaration) -> None:
    value: Value | None = None
    kind = None if declared.type is None else type_of(frame, declared.type)
    if declared.value is not None:
        value = evaluate(frame, declared.value)
        if kind is not None:
            value = coerce(frame, value, kind, declared.at)
    elif kind is not None:
        value = zeros(kind, declared.at)
    if not isinstance(value, Const):
        raise CslError(f"'{declared.name}' must be known at compile time", where=declared.at)
    if declared.kind == "const":
        frame.bind(declared.name, value, declared.at)
    else:
        frame.bind(declared.name, Cell(kind, owned(value)), declared.at)


def owned(value: Const) -> Const:
    """A copy of a value that can be changed without affecting others."""
    if isinstance(value.type, t.Array):
        return Const(value.type, type(value.value)(list(value.value.flat)))
    return value


def _assign(frame: Frame, statement: tree.Assign) -> None:
    if isinstance(statement.target, tree.Name) and statement.target.name == "_":
        evaluate(frame, statement.value)
        return
    location = location_of(frame, statement.target)
    if not isinstance(location, Part):
        raise CslError("cannot assign to this at compile time", where=statement.at)
    before = value_of(frame, location, statement.at)
    value = evaluate(frame, statement.value)
    if statement.op:
        value = arithmetic.binary(frame, statement.op, before, value, statement.at)
    kind = before.type if location.path or location.cell.type is not None else None
    if kind is None and t.is_number(before.type):
        kind = before.type
    if kind is not None:
        value = coerce(frame, value, kind, statement.at)
    frame.store(location, value, statement.at)


def _if(frame: Frame, statement: tree.If) -> Exit | None:
    test = condition(frame, statement.condition)
    if not isinstance(test, Const):
        raise CslError("this condition must be known at compile time", where=statement.at)
    if test.value:
        return execute(frame, statement.then)
    return None if statement.otherwise is None else execute(frame, statement.otherwise)


def elements(frame: Frame, value: Value, at: tree.Position) -> Iterator[Value]:
    """The elements that a compile-time loop iterates over."""
    if isinstance(value, Const) and isinstance(value.value, RangeValue):
        bounds = value.value
        parts = (bounds.start, bounds.stop, bounds.step)
        if not all(isinstance(part, Const) for part in parts):
            raise CslError("this range must be known at compile time", where=at)
        start, stop, step = (part.value for part in parts if isinstance(part, Const))
        for number in range(start, stop, step):
            yield Const(bounds.type, number)
    elif isinstance(value, Const) and isinstance(value.type, t.Array):
        for number in range(value.type.shape[0]):
            from xtc_targets.wse.sema.frame import element_of

            yield element_of(value, number, at)
    elif isinstance(value, Const) and isinstance(value.value, dict):
        yield from value.value.values()
    else:
        raise CslError(f"a loop cannot iterate over a {value.type}", where=at)


def _for(frame: Frame, loop: tree.For) -> Exit | None:
    value = evaluate(frame, loop.value)
    for number, element in enumerate(elements(frame, value, loop.at)):
        with frame.block():
            if not isinstance(element, Const):
                raise CslError("this must be known at compile time", where=loop.at)
            frame.bind(loop.element, element, loop.at)
            if loop.index is not None:
                frame.bind(loop.index, integer(number), loop.at)
            left = execute(frame, loop.body)
        if left is not None and not _continues(left, loop.label):
            return _after_loop(left, loop.label)
    return None


def _while(frame: Frame, loop: tree.While) -> Exit | None:
    while known(frame, loop.condition, "this condition").value:
        left = execute(frame, loop.body)
        if left is not None and not _continues(left, loop.label):
            return _after_loop(left, loop.label)
        if loop.step is not None:
            execute(frame, loop.step)
    return None


def _continues(left: Exit, label: str | None) -> bool:
    return left.kind == "continue" and left.label in (None, label)


def _after_loop(left: Exit, label: str | None) -> Exit | None:
    return None if left.kind == "break" and left.label in (None, label) else left


def _switch(frame: Frame, switch: tree.Switch) -> Exit | None:
    value = known(frame, switch.value, "the value of a switch")
    body = chosen_case(frame, value, switch.cases, switch.at)
    return execute(frame, body) if isinstance(body, tree.Stmt) else None


def _return(frame: Frame, statement: tree.Return) -> Exit:
    value = VOID if statement.value is None else evaluate(frame, statement.value)
    return Exit("return", value=coerce(frame, value, frame.result, statement.at))


def _leave(frame: Frame, statement: tree.Leave) -> Exit:
    return Exit(statement.kind, statement.label)


def _expression(frame: Frame, statement: tree.ExprStmt) -> None:
    evaluate(frame, statement.value)


_KINDS: dict[type[tree.Stmt], Callable[[Frame, Any], Exit | None]] = {
    tree.Block: _block,
    tree.Declaration: _declaration,
    tree.Assign: _assign,
    tree.If: _if,
    tree.For: _for,
    tree.While: _while,
    tree.Switch: _switch,
    tree.Return: _return,
    tree.Leave: _leave,
    tree.ExprStmt: _expression,
}
