# SPDX-License-Identifier: Apache-2.0
"""Rewrites returns of a value as assignments; a loop that returns is left by `break`.

for i in range(n):                 .returned = False
    if found:                      for i in range(n):
        return i                       if found:
return -1               ->                 .value, .returned = i, True
                                           break
                                   if not .returned:
                                       .value = -1
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

from xtc.core.errors import UserError
from xtc.tile.transcription.exits import KernelEnd, exits
from xtc.tile.transcription.slots import tuple_like
from xtc.tile.values.arithmetic import cast, data, spread
from xtc.tile.values.runtime import Data

_Node = TypeVar("_Node", bound=ast.AST)

VALUE = ".value"
"""The name of a function's return value; not a valid identifier."""

RETURNED = ".returned"
"""The flag of a function that has returned from a loop."""


def early_returns(body: Sequence[ast.stmt]) -> list[ast.Return]:
    """The returns of a value, or of none, in branches and loops."""
    inner = [statement for statement in body if not isinstance(statement, ast.Return)]
    nodes = (node for statement in inner for node in ast.walk(statement))
    return [node for node in nodes if isinstance(node, ast.Return)]


def returns_value(body: Sequence[ast.stmt]) -> bool:
    """Whether a return in these statements has a value."""
    nodes = (node for statement in body for node in ast.walk(statement))
    values = [node.value for node in nodes if isinstance(node, ast.Return)]
    return any(value is not None and ast.unparse(value) != "None" for value in values)


def returning_loop(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """The first loop that returns, or None."""
    nodes = (node for statement in body for node in ast.walk(statement))
    return next((node for node in nodes if _is_returning_loop(node)), None)  # type: ignore[return-value]


def with_end(body: Sequence[ast.stmt], loop: ast.stmt) -> list[ast.stmt]:
    """The statements of a function that returns in a loop, up to its last return."""
    last = body[-1]
    endless = isinstance(last, ast.While) and ast.unparse(last.test) == "True"
    if isinstance(last, ast.Return) or endless:
        return list(body)
    return [*body, _at(ast.Return(_at(ast.Constant(None), loop)), loop)]


def with_values(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements with returns replaced by assignments to `VALUE`. The code after a branch that
    may return is moved into the paths that do not return, that after a loop into a branch."""
    result: list[ast.stmt] = []
    for number, statement in enumerate(body):
        rest = body[number + 1 :]
        if isinstance(statement, ast.Return):
            return [*result, _assigned(statement)]
        if isinstance(statement, KernelEnd):
            return [*result, statement]
        if isinstance(statement, ast.If) and exits([statement], ast.Return):
            ways = [with_values([*way, *rest]) for way in (statement.body, statement.orelse)]
            return [*result, ast.copy_location(ast.If(statement.test, *ways), statement)]
        if _is_returning_loop(statement):
            after = ast.If(_flag(statement), [_at(ast.Pass(), statement)], with_values(rest))
            return [
                *result,
                _set(RETURNED, ast.Constant(False), statement),
                _left(statement),
                _at(after, statement),
            ]
        result.append(statement)
    return result


def like(values: Sequence[Any]) -> Any:
    """Zeros like the values that a function returns: run-time data where one of them is."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, tuple):
        same = [value for value in values if isinstance(value, tuple) and len(value) == len(first)]
        return tuple_like(first, map(like, zip(*same, strict=True)))
    found = next((value for value in values if isinstance(value, Data)), None)
    if found is not None:
        return spread(cast(0, found.dtype), found.shape)
    return cast(0, data(first).dtype) if isinstance(first, bool | int | float) else first


def fitted(value: Any, wanted: Any) -> Any:
    """A value that a function returns, of the kind of the others. Raises UserError for another."""
    if isinstance(wanted, tuple) and isinstance(value, tuple) and len(wanted) == len(value):
        return tuple_like(wanted, map(fitted, value, wanted))
    if not isinstance(wanted, Data):
        if value == wanted:
            return value
    elif isinstance(value, Data):
        both_integers = value.dtype.kind == wanted.dtype.kind == "int"
        if value.shape == wanted.shape and (value.dtype == wanted.dtype or both_integers):
            return cast(value, wanted.dtype)
    elif isinstance(value, bool | int | float) and not wanted.shape and _fits(value, wanted):
        return cast(value, wanted.dtype)
    raise UserError(
        f"a method returns {value!r} here, and {wanted!r} elsewhere",
        notes=["a run-time loop decides which of them is returned"],
        hints=["return values of one type and shape: self.cast(x, dtype=...), int32(0)"],
    )


def _fits(value: bool | int | float, wanted: Data) -> bool:
    return wanted.dtype.is_float() or not isinstance(value, float)


def _is_returning_loop(node: ast.AST) -> bool:
    return isinstance(node, ast.For | ast.While) and bool(exits([node], ast.Return))


def _left(loop: Any) -> ast.stmt:
    """A loop whose returns leave it."""
    body = _breaking(loop.body)
    if isinstance(loop, ast.While):
        return _at(ast.While(loop.test, body, loop.orelse), loop)
    return _at(ast.For(loop.target, loop.iter, body, loop.orelse), loop)


def _breaking(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    result: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Return):
            flag = _set(RETURNED, ast.Constant(True), statement)
            return [*result, _assigned(statement), flag, _at(ast.Break(), statement)]
        if isinstance(statement, ast.If):
            ways = map(_breaking, (statement.body, statement.orelse))
            statement = _at(ast.If(statement.test, *ways), statement)
        elif _is_returning_loop(statement):
            leave = ast.If(_flag(statement), [_at(ast.Break(), statement)], [])
            result.append(_left(statement))
            statement = _at(leave, statement)
        result.append(statement)
    return result


def _assigned(statement: ast.Return) -> ast.stmt:
    return _set(VALUE, statement.value or ast.Constant(None), statement)


def _set(name: str, value: ast.expr, at: ast.stmt) -> ast.stmt:
    if isinstance(value, ast.Constant):
        _at(value, at)
    return _at(ast.Assign([_at(ast.Name(name, ast.Store()), at)], value), at)


def _flag(at: ast.AST) -> ast.expr:
    return _at(ast.Name(RETURNED, ast.Load()), at)


def _at(made: _Node, at: ast.AST) -> _Node:
    return ast.copy_location(made, at)
