# SPDX-License-Identifier: Apache-2.0
"""A bare `return` in a branch or a loop ends the kernel, in any method."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from inspect import getattr_static
from types import FunctionType
from typing import Any

from xtc.core.errors import UserError
from xtc.tile.classes import Class
from xtc.tile.transcription.exits import InnerFunction, KernelEnd
from xtc.tile.transcription.slots import Ended, Names

ENDED = ".ended"
"""The flag, in the kernel's own frame, that is set when the kernel has ended."""


Syntax = Callable[[FunctionType], ast.FunctionDef]
Lookup = Callable[[str], Any]


def mark_ends(function: ast.FunctionDef) -> None:
    """Replace bare returns in branches and loops by KernelEnd; others return None."""
    for number, statement in enumerate(function.body):
        if isinstance(statement, ast.Return):
            statement.value = statement.value or ast.copy_location(ast.Constant(None), statement)
        else:
            function.body[number] = _Marker().visit(statement)


class _Marker(ast.NodeTransformer):
    def visit_Return(self, node: ast.Return) -> ast.stmt:
        return node if node.value is not None else ast.copy_location(KernelEnd(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        mark_ends(node)
        made = ast.copy_location(InnerFunction(), node)
        made.definition = node
        return made

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


def ended_in(frames: Sequence[Names]) -> Any:
    """Whether the kernel has ended: False, True, or a run-time number."""
    found = frames[0].get(ENDED)
    return found.ended if isinstance(found, Ended) else False


class Ends:
    """Determines which statements may end the kernel, directly or in methods that they call."""

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax
        self._open: set[FunctionType | ast.FunctionDef] = set()

    def may_end(self, body: Iterable[ast.stmt], lookup: Lookup) -> bool:
        """Whether statements may end the kernel; `lookup` returns the value of a name."""
        nodes = [node for statement in body for node in ast.walk(statement)]
        inner = [n.definition for n in nodes if isinstance(n, InnerFunction)]
        calls = [node.func for node in nodes if isinstance(node, ast.Call)]
        inner += [found for call in calls if (found := _local(call, lookup)) is not None]
        return (
            any(isinstance(node, KernelEnd) for node in nodes)
            or any(self._local_ends(function, lookup) for function in inner)
            or any(
                self._method_ends(function, owner, lookup)
                for call in calls
                for function, owner in _targets(call, lookup)
            )
        )

    def _local_ends(self, function: ast.FunctionDef, lookup: Lookup) -> bool:
        if function in self._open:
            return False
        self._open.add(function)
        try:
            return self.may_end(function.body, lookup)
        finally:
            self._open.discard(function)

    def _method_ends(self, function: FunctionType, owner: Any, lookup: Lookup) -> bool:
        if function in self._open:
            return False
        self._open.add(function)
        try:
            known = {**function.__globals__, "self": lookup("self")}
            known.update(dict.fromkeys(function.__code__.co_varnames[:1], owner))
            return self.may_end(self._syntax(function).body, known.get)
        except UserError:  # without source; it runs as Python
            return False
        finally:
            self._open.discard(function)


def _targets(function: ast.expr, lookup: Lookup) -> list[tuple[FunctionType, Any]]:
    """The user's functions that a call may run, each with its object or class."""
    if isinstance(function, ast.Name):
        made = lookup(function.id)
        if _is_users(made):
            return [(made, None)]
        is_class = isinstance(made, type) and issubclass(made, Class)
        return _own("__init__", made) if is_class else []
    if not isinstance(function, ast.Attribute):
        return []
    owner = _resolved(function.value, lookup)
    owners = _classes(lookup("self")) if owner is None else [owner]
    return [pair for each in owners for pair in _own(function.attr, each)]


def _local(function: ast.expr, lookup: Lookup) -> ast.FunctionDef | None:
    """The definition of a function within a kernel, if a call runs one."""
    found = lookup(function.id) if isinstance(function, ast.Name) else None
    return getattr(found, "definition", None)


def _classes(kernel: Any) -> list[type]:
    """The classes of a kernel's module: possible classes of an object that is not known yet."""
    known = list(type(kernel).__mro__)
    pending: list[type] = [Class]
    while pending:
        inner: list[type] = pending.pop().__subclasses__()
        pending += inner
        known += [each for each in inner if each.__module__ == type(kernel).__module__]
    return known


def _own(name: str, owner: Any) -> list[tuple[FunctionType, Any]]:
    function = getattr_static(owner, name, None)
    return [(function, owner)] if _is_users(function) else []


def _is_users(function: Any) -> bool:
    """Whether this is a function that is not of the language."""
    return isinstance(function, FunctionType) and not (function.__module__ or "").startswith(
        "xtc.tile."
    )


def _resolved(node: ast.expr, lookup: Lookup) -> Any:
    """The value of a dotted name, without running properties; None if not known yet."""
    if isinstance(node, ast.Name):
        return lookup(node.id)
    if isinstance(node, ast.Attribute):
        found = getattr_static(_resolved(node.value, lookup), node.attr, None)
        return None if isinstance(found, property) else found
    return None
