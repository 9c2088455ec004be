# SPDX-License-Identifier: Apache-2.0
"""Calls: executed at compile time, or compiled to calls of the tile class's functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.code import Code, llvm_type
from xtc_targets.wse.sema.convert import coerce
from xtc_targets.wse.sema.costs import CALL, RETURN
from xtc_targets.wse.sema.evaluate import type_of
from xtc_targets.wse.sema.frame import Frame, Scope
from xtc_targets.wse.sema.generate import generate, variable
from xtc_targets.wse.sema.interpret import execute
from xtc_targets.wse.sema.values import VOID, Const, FunctionValue, Run, Value, key_of

_DEEPEST = 200
"""The deepest nesting of compile-time calls."""


@dataclass
class Instance:
    """A function of a tile class, specialized for values of its comptime parameters."""

    result: t.Type
    kinds: tuple[t.Type, ...]
    """The types of the run-time parameters."""
    name: str
    symbol: str = ""
    """The symbol, once it is generated or calls itself."""


@dataclass
class Instances:
    """All functions of a tile class, in the order of their first calls."""

    by_key: dict[Any, Instance] = field(default_factory=dict)
    depth: int = 0


def call(frame: Frame, callee: FunctionValue, args: Sequence[Value], at: Position) -> Value:
    """Call a function with values. Raises CslError."""
    function = callee.tree
    if function.kind == "task":
        raise CslError(
            f"the task '{function.name}' cannot be called", where=at, hints=["@activate its id"]
        )
    if len(args) != len(function.params):
        raise CslError(
            f"'{function.name}' takes {len(function.params)} arguments, not {len(args)}",
            where=at,
            notes=[f"declared at {function.at}"],
        )
    body, kinds, given = _parameters(frame, callee, args, at)
    result = type_of(body, function.result)
    everything_known = all(isinstance(each, Const) for each in given)
    if frame.code is None or (not t.is_runtime(result) and result != t.VOID):
        if not everything_known:
            raise CslError(
                f"the arguments of '{function.name}' must be known at compile time", where=at
            )
        return _execute(body, callee, given, result, at)
    return _emit_call(frame, body, callee, kinds, given, result, at)


def _parameters(
    frame: Frame, callee: FunctionValue, args: Sequence[Value], at: Position
) -> tuple[Frame, list[t.Type], list[Value]]:
    """A frame with the parameters that types depend on, the types, and the converted values."""
    body = Frame(frame.program, callee.module, Scope())
    kinds, given = [], []
    for param, value in zip(callee.tree.params, args, strict=True):
        kind = type_of(body, param.type)
        value = coerce(frame, value, kind, at)
        if kind == t.ANYTYPE:
            kind = value.type
        kinds.append(kind)
        given.append(value)
        body.scope.names[param.name] = value
        if param.comptime and isinstance(value, Run):
            raise CslError(f"the argument '{param.name}' must be known at compile time", where=at)
    return body, kinds, given


def _execute(
    body: Frame, callee: FunctionValue, given: Sequence[Value], result: t.Type, at: Position
) -> Value:
    instances = body.program.instances
    if instances.depth == _DEEPEST:
        raise CslError(f"more than {_DEEPEST} nested calls", where=at)
    if callee.tree.body is None:
        raise CslError(f"'{callee.name}' is only declared", where=at)
    body.result = result
    instances.depth += 1
    try:
        left = execute(body, callee.tree.body)
    finally:
        instances.depth -= 1
    if left is None or left.kind != "return":
        if result != t.VOID:
            raise CslError(f"'{callee.name}' does not return a {result}", where=callee.tree.at)
        return VOID
    return left.value


def _emit_call(
    frame: Frame, body: Frame, callee: FunctionValue, kinds: list[t.Type],
    given: list[Value], result: t.Type, at: Position,
) -> Value:  # fmt: skip
    params = callee.tree.params
    known = {
        param.name: value
        for param, kind, value in zip(params, kinds, given, strict=True)
        if isinstance(value, Const) and (param.comptime or not t.is_runtime(kind))
    }
    inside: list[Run] = []
    template = {name: _template(value, inside) for name, value in known.items()}
    instance = instance_of(frame, callee, kinds, template, result, _passed_parts(inside))
    code = frame.running(at)
    if not instance.symbol:
        instance.symbol = frame.program.shared.reserve(instance.name)
    operands = [
        f"{llvm_type(kind)} {frame.operand(value, kind, at)}"
        for param, kind, value in zip(params, kinds, given, strict=True)
        if param.name not in known
    ]
    operands += [f"{llvm_type(each.type)} {frame.operand(each, each.type, at)}" for each in inside]
    code.charge(CALL + len(operands))
    if t.is_aggregate(result):
        slot = code.slot(f"[{result.size} x i8]")
        code.call("void", instance.symbol, f"ptr {slot}", *operands)
        return Run(result, slot)
    text = code.call(llvm_type(result), instance.symbol, *operands)
    return VOID if result == t.VOID else Run(result, text)


def _template(value: Const, inside: list[Run]) -> Const:
    """A struct with placeholders for its computed parts, which are appended to `inside`."""
    if not isinstance(value.value, dict):
        return value
    found: dict[str, Value] = {}
    for name, each in value.value.items():
        if isinstance(each, Run):
            inside.append(each)
            found[name] = _passed_parts(inside)[-1]
        else:
            found[name] = _template(each, inside)
    return Const(value.type, found)


def _passed_parts(inside: Sequence[Run]) -> list[Run]:
    """The additional parameters that pass the computed parts of structs."""
    return [Run(each.type, f"%in{number}") for number, each in enumerate(inside)]


def instance_of(
    frame: Frame, callee: FunctionValue, kinds: Sequence[t.Type], known: dict[str, Const],
    result: t.Type, inside: Sequence[Run] = (),
) -> Instance:  # fmt: skip
    """The function for these values of comptime parameters, generated on first use."""
    program = frame.program
    key = (callee, tuple(kinds), tuple((name, key_of(value)) for name, value in known.items()))
    if key in program.instances.by_key:
        return program.instances.by_key[key]
    instance = Instance(result, tuple(kinds), callee.name)
    program.instances.by_key[key] = instance
    params = callee.tree.params
    passed = [
        (param.name, kind)
        for param, kind in zip(params, kinds, strict=True)
        if param.name not in known
    ]
    _write(program.frame(callee.module), callee, instance, known, passed, inside)
    return instance


def _write(
    frame: Frame, callee: FunctionValue, instance: Instance, known: dict[str, Const],
    passed: list[tuple[str, t.Type]], inside: Sequence[Run],
) -> None:  # fmt: skip
    function, result = callee.tree, instance.result
    if function.body is None:
        raise CslError(f"'{function.name}' is only declared", where=function.at)
    code = Code(instance.name)
    frame.code, frame.result = code, result
    frame.in_memory = _in_memory(function)
    frame.scope.names.update(known)
    operands = ["ptr %pe"]
    if t.is_aggregate(result):
        frame.result_slot = "%result"
        operands.append("ptr %result")
    for number, (name, kind) in enumerate(passed):
        operands.append(f"{llvm_type(kind)} %arg{number}")
        value = Run(kind, f"%arg{number}")
        if name in frame.in_memory:
            location = variable(frame, name, kind, function.at)
            frame.store(location, value, function.at)
            frame.scope.names[name] = location
        else:
            frame.scope.names[name] = value
    operands += [f"{llvm_type(each.type)} {each.text}" for each in inside]
    generate(frame, function.body)
    code.charge(RETURN)
    if result == t.VOID:
        code.emit_return("void")
    elif not code.done:
        code.unreachable()
    plain = "void" if t.is_aggregate(result) else llvm_type(result)
    behind = f"({', '.join(operands)}) {code.text()}"
    shared = frame.program.shared
    if instance.symbol:
        shared.define(instance.symbol, plain, behind)
    else:
        instance.symbol = shared.function(instance.name, plain, behind)


_addressed_names: dict[int, tuple[tree.Function, frozenset[str]]] = {}


def _in_memory(function: tree.Function) -> frozenset[str]:
    """The variables of a function whose address is taken, cached."""
    if id(function) not in _addressed_names:
        _addressed_names[id(function)] = (function, frozenset(_addressed(function.body)))
    return _addressed_names[id(function)][1]


def entry_of(frame: Frame, callee: FunctionValue) -> Instance:
    """The instance of a task, or of a function that the host calls."""
    function = callee.tree
    kinds = [type_of(frame.program.frame(callee.module), each.type) for each in function.params]
    result = type_of(frame.program.frame(callee.module), function.result)
    for param, kind in zip(function.params, kinds, strict=True):
        if not t.is_runtime(kind) or t.is_aggregate(kind):
            raise CslError(
                f"the argument '{param.name}' of '{function.name}' cannot be a {kind}",
                where=param.at,
            )
    return instance_of(frame, callee, kinds, {}, result)


def _addressed(node: Any) -> Iterator[str]:
    """The names whose address is taken in a subtree."""
    if isinstance(node, tree.Unary) and node.op == "&":
        inner = node.operand
        while isinstance(inner, tree.Member | tree.Index):
            inner = inner.base
        if isinstance(inner, tree.Name):
            yield inner.name
    if isinstance(node, tuple):
        for each in node:
            yield from _addressed(each)
    elif is_dataclass(node):
        for each in fields(node):
            if each.name != "at":
                yield from _addressed(getattr(node, each.name))
