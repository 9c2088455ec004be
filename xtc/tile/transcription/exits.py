# SPDX-License-Identifier: Apache-2.0
"""Rewrites `break` and `continue` as conditions of the statements that follow.

if done:                  if done:
    break          ->         .left = True
work()                    if not .left:
                              work()
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

LEFT, SKIPPED = ".left", ".skipped"
"""Flags of a loop and of an iteration that have ended; not valid identifiers."""

_FLAGS: dict[type[ast.stmt], str] = {
    ast.Break: LEFT,
    ast.Continue: SKIPPED,
}


class KernelEnd(ast.stmt):
    """A bare `return` in a branch or a loop: it ends the kernel, also in a method."""


class InnerFunction(ast.stmt):
    """A `def` within a kernel. Its own statements are not among those of the kernel."""

    _fields = ()
    definition: ast.FunctionDef


def exits(body: Sequence[ast.stmt], *kinds: type[ast.stmt]) -> set[type[ast.stmt]]:
    """The kinds of exits in these statements, without those of inner loops."""
    found: set[type[ast.stmt]] = set()
    for statement in body:
        if isinstance(statement, kinds):
            found.add(type(statement))
        inner = kinds
        if isinstance(statement, ast.For | ast.While):
            inner = tuple(kind for kind in kinds if kind in (ast.Return, KernelEnd))
        if isinstance(statement, ast.If | ast.With | ast.For | ast.While) and inner:
            found |= exits([*statement.body, *getattr(statement, "orelse", [])], *inner)
    return found


def without_exits(body: Sequence[ast.stmt], *kinds: type[ast.stmt]) -> list[ast.stmt]:
    """The statements with exits replaced by flags; statements after an exit become conditional."""
    result: list[ast.stmt] = []
    for number, statement in enumerate(body):
        if isinstance(statement, kinds):
            result.append(_set(_FLAGS[type(statement)], statement))
            return result
        found = exits([statement], *kinds)
        if isinstance(statement, ast.With) or not found:
            result.append(statement)
            continue
        result.append(_rewritten(statement, kinds))
        rest = without_exits(body[number + 1 :], *kinds)
        if rest:
            result.append(_unless([_FLAGS[kind] for kind in sorted(found, key=str)], rest))
        return result
    return result


def left_in_group(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """A statement that leaves a group of threads from inside, or None."""
    for statement in (node for each in body for node in ast.walk(each)):
        if isinstance(statement, ast.With) and exits(
            statement.body, *_FLAGS, ast.Return, KernelEnd
        ):
            return statement
    return None


def flag_names(kinds: set[type[ast.stmt]]) -> list[str]:
    """The flags of these kinds of exits."""
    return sorted(_FLAGS[kind] for kind in kinds)


def _rewritten(statement: ast.stmt, kinds: tuple[type[ast.stmt], ...]) -> ast.stmt:
    """Rewrite the exits of a branch; loops are unchanged."""
    if not isinstance(statement, ast.If):
        return statement
    made = ast.If(
        statement.test,
        without_exits(statement.body, *kinds),
        without_exits(statement.orelse, *kinds),
    )
    return ast.copy_location(made, statement)


def _set(name: str, at: ast.stmt) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), at)
    made = ast.Assign([target], ast.copy_location(ast.Constant(True), at))
    return ast.copy_location(made, at)


def _unless(names: Sequence[str], body: list[ast.stmt]) -> ast.stmt:
    at = body[0]
    flags: list[ast.expr] = [ast.copy_location(ast.Name(n, ast.Load()), at) for n in names]
    any_of = flags[0] if len(flags) == 1 else ast.copy_location(ast.BoolOp(ast.Or(), flags), at)
    test = ast.copy_location(ast.UnaryOp(ast.Not(), any_of), at)
    return ast.copy_location(ast.If(test, body, []), at)
