# SPDX-License-Identifier: Apache-2.0
"""Generates LLVM IR for the statements of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema import arithmetic
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.code import BasicBlock, Code, llvm_type
from xtc_targets.wse.sema.convert import coerce
from xtc_targets.wse.sema.costs import BACK_EDGE, BRANCH
from xtc_targets.wse.sema.evaluate import (
    chosen_case,
    condition,
    evaluate,
    evaluate_as,
    type_of,
    zeros,
)
from xtc_targets.wse.sema.frame import Frame, Loop, Memory, Part, Slot
from xtc_targets.wse.sema.interpret import elements, execute, owned
from xtc_targets.wse.sema.lvalues import load, location_of
from xtc_targets.wse.sema.values import (
    Address,
    Cell,
    Const,
    RangeValue,
    Run,
    Value,
    integer,
)


def generate(frame: Frame, statement: tree.Stmt) -> None:
    """Generate the code of a statement. Raises CslError."""
    if frame.running(statement.at).done:
        return  # unreachable
    frame.program.tick(statement.at)
    kind = _KINDS.get(type(statement))
    if kind is None:
        raise CslError("this statement is not allowed here", where=statement.at)
    kind(frame, statement)


def _block(frame: Frame, block: tree.Block) -> None:
    if block.comptime:
        with frame.comptime():
            execute(frame, block)
        return
    code = frame.running(block.at)
    if block.label:
        end = code.new_block("after")
        frame.loops.append(Loop(block.label, end, None))
        _body(frame, block)
        frame.loops.pop()
        code.jump(end)
        code.start(end)
    else:
        _body(frame, block)


def _body(frame: Frame, block: tree.Block) -> None:
    with frame.block():
        for statement in block.body:
            generate(frame, statement)


def _declaration(frame: Frame, declared: tree.Declaration) -> None:
    kind = None if declared.type is None else type_of(frame, declared.type)
    if declared.comptime:
        with frame.comptime():
            execute(frame, declared)
        return
    value = None if declared.value is None else evaluate_as(frame, declared.value, kind)
    if value is None and kind is None:
        raise CslError(f"'{declared.name}' has neither a type nor a value", where=declared.at)
    if kind is not None and value is not None:
        value = coerce(frame, value, kind, declared.at)
    if declared.kind == "const":
        assert value is not None  # noqa: S101  the parser requires the value of a const
        frame.bind(declared.name, _kept(frame, value, declared.at), declared.at)
        return
    kind = kind or (value.type if value is not None else t.VOID)
    if not t.is_runtime(kind) and isinstance(value, Const):
        if kind in (t.COMPTIME_INT, t.COMPTIME_FLOAT):
            raise CslError(
                f"the variable '{declared.name}' has no type",
                where=declared.at,
                hints=["give it one, such as i16 or f32"],
            )
        frame.bind(declared.name, Cell(kind, owned(value)), declared.at)
        return
    location = variable(frame, declared.name, kind, declared.at)
    if value is not None:
        frame.store(location, value, declared.at)
    elif not isinstance(kind, t.Dsd):
        frame.store(location, zeros(kind, declared.at), declared.at)
    frame.bind(declared.name, location, declared.at)


def _kept(frame: Frame, value: Value, at: tree.Position) -> Value:
    """A copy of a value that later changes of memory do not affect."""
    if isinstance(value, Run) and t.is_aggregate(value.type):
        slot = Slot(value.type, frame.running(at).slot(f"[{value.type.size} x i8]"))
        frame.store(slot, value, at)
        return Run(value.type, slot.text)
    return value


def variable(frame: Frame, name: str, kind: t.Type, at: tree.Position) -> Slot | Memory:
    """Allocate a local variable, in the PE's memory if its address is taken."""
    code = frame.running(at)
    if isinstance(kind, t.Array | t.Struct) or name in frame.in_memory:
        return Memory(kind, code.stack(kind.size, kind.alignment))
    return Slot(kind, code.slot(f"[{max(1, kind.size)} x i8]"))


def _assign(frame: Frame, statement: tree.Assign) -> None:
    if isinstance(statement.target, tree.Name) and statement.target.name == "_":
        evaluate(frame, statement.value)
        return
    location = location_of(frame, statement.target)
    if isinstance(location, Part):
        with frame.comptime():
            execute(frame, statement)
        return
    if isinstance(location, Const | Run):
        raise CslError("cannot assign to this", where=statement.at)
    value = evaluate_as(frame, statement.value, location.type)
    if statement.op:
        before = load(frame, location, statement.at)
        value = arithmetic.binary(frame, statement.op, before, value, statement.at)
    frame.store(location, coerce(frame, value, location.type, statement.at), statement.at)


def _if(frame: Frame, statement: tree.If) -> None:
    if statement.comptime:
        with frame.comptime():
            test = condition(frame, statement.condition)
    else:
        test = condition(frame, statement.condition)
    if isinstance(test, Const):
        if test.value:
            generate(frame, statement.then)
        elif statement.otherwise is not None:
            generate(frame, statement.otherwise)
        return
    code = frame.running(statement.at)
    then, end = code.new_block("then"), code.new_block("end")
    otherwise = end if statement.otherwise is None else code.new_block("else")
    code.charge(BRANCH)
    code.branch(test.text, then, otherwise)
    for block, body in ((then, statement.then), (otherwise, statement.otherwise)):
        if body is not None:
            code.start(block)
            generate(frame, body)
            code.jump(end)
    code.start(end)


def _while(frame: Frame, loop: tree.While) -> None:
    code = frame.running(loop.at)
    head, body = code.new_block("while"), code.new_block("body")
    again, end = code.new_block("again"), code.new_block("end")
    code.jump(head)
    code.start(head)
    test = condition(frame, loop.condition)
    code.charge(BRANCH)
    code.branch(frame.operand(test, t.BOOL, loop.at), body, end)
    code.start(body)
    _looped(frame, loop.body, loop.label, end, again)
    if loop.step is not None:
        generate(frame, loop.step)
    _close_loop(code, head)
    code.start(end)


def _looped(
    frame: Frame, body: tree.Stmt, label: str | None, end: BasicBlock, again: BasicBlock
) -> None:
    code = frame.running(body.at)
    frame.loops.append(Loop(label, end, again))
    generate(frame, body)
    frame.loops.pop()
    code.jump(again)
    code.start(again)


def _close_loop(code: Code, head: BasicBlock) -> None:
    code.charge(BACK_EDGE)
    code.check_limit()
    code.jump(head)


def _for(frame: Frame, loop: tree.For) -> None:
    value = evaluate(frame, loop.value)
    if isinstance(value, Const) and isinstance(value.value, RangeValue):
        bounds = value.value
        if t.is_runtime(bounds.type) and not loop.comptime:
            _for_range(frame, loop, bounds)
            return
    if isinstance(value, Const) and (loop.comptime or not isinstance(value.type, t.Array)):
        _unrolled(frame, loop, value)
        return
    _for_array(frame, loop)


def _unrolled(frame: Frame, loop: tree.For, value: Const) -> None:
    code = frame.running(loop.at)
    end = code.new_block("end")
    for number, element in enumerate(elements(frame, value, loop.at)):
        again = code.new_block("next")
        with frame.block():
            frame.bind(loop.element, element, loop.at)
            if loop.index is not None:
                frame.bind(loop.index, integer(number), loop.at)
            _looped(frame, loop.body, loop.label, end, again)
    code.jump(end)
    code.start(end)


def _for_range(frame: Frame, loop: tree.For, bounds: RangeValue) -> None:
    kind = bounds.type
    assert isinstance(kind, t.Int)  # noqa: S101  @range has checked it
    stop = coerce(frame, bounds.stop, kind, loop.at)
    step = frame.operand(bounds.step, kind, loop.at)
    downward = isinstance(bounds.step, Const) and bounds.step.value < 0
    predicate = ("s" if kind.signed else "u") + ("gt" if downward else "lt")
    start = frame.operand(bounds.start, kind, loop.at)
    _counted(frame, loop, kind, start, frame.operand(stop, kind, loop.at), step, predicate)


def _counted(
    frame: Frame, loop: tree.For, kind: t.Int, start: str, stop: str, step: str, predicate: str,
    array: Memory | None = None,
) -> None:  # fmt: skip
    code, used = frame.running(loop.at), llvm_type(kind)
    counter, index = code.slot(used), code.slot("i32")
    code.line(f"store {used} {start}, ptr {counter}")
    code.line(f"store i32 0, ptr {index}")
    head, body = code.new_block("for"), code.new_block("body")
    again, end = code.new_block("again"), code.new_block("end")
    code.jump(head)
    code.start(head)
    now = code.value(f"load {used}, ptr {counter}")
    code.charge(BRANCH)
    code.branch(code.value(f"icmp {predicate} {used} {now}, {stop}"), body, end)
    code.start(body)
    with frame.block():
        _bind_element(frame, loop, Run(kind, now), index, array)
        _looped(frame, loop.body, loop.label, end, again)
    wide = f"i{kind.bits + 1}"
    _step(code, kind, counter, step, stop, end, predicate, wide)
    before = code.value(f"load i32, ptr {index}")
    after = code.value(f"add i32 {before}, 1")
    code.line(f"store i32 {after}, ptr {index}")
    _close_loop(code, head)
    code.start(end)


def _step(
    code: Code, kind: t.Int, counter: str, step: str, stop: str, end: BasicBlock,
    predicate: str, wide: str,
) -> None:  # fmt: skip
    """Advance the loop variable; the loop also ends if it passes the highest value of its type."""
    used, extend = llvm_type(kind), "sext" if kind.signed else "zext"
    now = code.value(f"load {used}, ptr {counter}")
    far = code.value(f"{extend} {used} {now} to {wide}")
    by = code.value(f"sext {used} {step} to {wide}") if kind.signed else (
        code.value(f"zext {used} {step} to {wide}")
    )  # fmt: skip
    following = code.value(f"add {wide} {far}, {by}")
    last = code.value(f"{extend} {used} {stop} to {wide}")
    inside = code.value(f"icmp {'s' + predicate[1:]} {wide} {following}, {last}")
    if not kind.signed:
        inside = code.value(f"icmp {predicate} {wide} {following}, {last}")
    onward = code.new_block("onward")
    code.branch(inside, onward, end)
    code.start(onward)
    narrow = code.value(f"trunc {wide} {following} to {used}")
    code.line(f"store {used} {narrow}, ptr {counter}")


def _bind_element(
    frame: Frame, loop: tree.For, number: Run, index: str, array: Memory | None
) -> None:
    code = frame.running(loop.at)
    element: Value = number
    if array is not None:
        kind = array.type
        assert isinstance(kind, t.Array)  # noqa: S101  the caller has checked
        inner = kind.element if len(kind.shape) == 1 else t.Array(kind.shape[1:], kind.element)
        offset = code.value(f"mul i16 {number.text}, {inner.size}")
        start = frame.address_text(array.address)
        address = code.value(f"add i16 {start}, {offset}")
        element = frame.load(Memory(inner, address, array.const), loop.at)
    frame.bind(loop.element, element, loop.at)
    if loop.index is not None:
        wide = code.value(f"load i32, ptr {index}")
        narrow = code.value(f"trunc i32 {wide} to i16")
        frame.bind(loop.index, Run(t.I16, narrow), loop.at)


def _for_array(frame: Frame, loop: tree.For) -> None:
    found = location_of(frame, loop.value)
    if isinstance(found, Const) and isinstance(found.type, t.Array):
        found = Memory(found.type, Address(frame.program.constant(found, loop.at)), True)
    if not isinstance(found, Memory) or not isinstance(found.type, t.Array):
        raise CslError(f"a loop cannot iterate over a {found.type}", where=loop.at)  # type: ignore[union-attr]
    count = str(found.type.shape[0])
    _counted(frame, loop, t.U16, "0", count, "1", "ult", found)


def _switch(frame: Frame, switch: tree.Switch) -> None:
    value = evaluate(frame, switch.value)
    if isinstance(value, Const):
        body = chosen_case(frame, value, switch.cases, switch.at)
        if isinstance(body, tree.Stmt):
            generate(frame, body)
        return
    code = frame.running(switch.at)
    end = code.new_block("end")
    fallback = None
    for case in switch.cases:
        if not case.values:
            fallback = case.body
            continue
        body_block, following = code.new_block("case"), code.new_block("next")
        for each in case.values:
            same = arithmetic.binary(frame, "==", value, evaluate(frame, each), each.at)
            missed = code.new_block("miss")
            code.charge(BRANCH)
            code.branch(frame.operand(same, t.BOOL, each.at), body_block, missed)
            code.start(missed)
        code.jump(following)
        code.start(body_block)
        _case_body(frame, case.body)
        code.jump(end)
        code.start(following)
    if fallback is not None:
        _case_body(frame, fallback)
    code.jump(end)
    code.start(end)


def _case_body(frame: Frame, body: tree.Stmt | tree.Expr) -> None:
    if isinstance(body, tree.Stmt):
        generate(frame, body)
    else:
        evaluate(frame, body)


def _return(frame: Frame, statement: tree.Return) -> None:
    code = frame.running(statement.at)
    if statement.value is None:
        if frame.result != t.VOID:
            raise CslError(f"a {frame.result} must be returned", where=statement.at)
        code.emit_return("void")
        return
    found = evaluate_as(frame, statement.value, frame.result)
    value = coerce(frame, found, frame.result, statement.at)
    emit_return_value(frame, value, statement.at)


def emit_return_value(frame: Frame, value: Value, at: tree.Position) -> None:
    """Return a value of the function's type."""
    code = frame.running(at)
    if frame.result == t.VOID:
        code.emit_return("void")
    elif t.is_aggregate(frame.result):
        frame.store_at(frame.result_slot, value, frame.result, at)
        code.emit_return("void")
    else:
        text = frame.operand(value, frame.result, at)
        code.emit_return(f"{llvm_type(frame.result)} {text}")


def _leave(frame: Frame, statement: tree.Leave) -> None:
    code = frame.running(statement.at)
    for loop in reversed(frame.loops):
        if statement.label is not None and loop.label != statement.label:
            continue
        target = loop.end if statement.kind == "break" else loop.again
        if target is not None and (loop.again is not None or statement.label is not None):
            code.jump(target)
            return
    raise CslError(f"there is no loop to {statement.kind}", where=statement.at)


def _expression(frame: Frame, statement: tree.ExprStmt) -> None:
    evaluate(frame, statement.value)


_KINDS: dict[type[tree.Stmt], Callable[[Frame, Any], None]] = {
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
