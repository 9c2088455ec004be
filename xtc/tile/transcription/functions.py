# SPDX-License-Identifier: Apache-2.0
"""Functions besides methods: which of them are transcribed, and functions within a kernel.

A function that gets run-time values is transcribed like a method. Others, and those with syntax
that a kernel lacks, run as Python while the kernel is transcribed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter, Signature
from types import FunctionType
from typing import Any

from xtc.core.errors import UserError
from xtc.tile.instructions.block import Instructions
from xtc.tile.transcription.exits import KernelEnd
from xtc.tile.transcription.syntax import syntax_of
from xtc.tile.values.runtime import Data, Memory, Pointer

_OWN = "xtc.tile."


class LocalFunction:
    """The value of a function that a kernel defines; `definition` has its statements."""

    def __init__(
        self,
        definition: ast.FunctionDef,
        signature: Signature,
        run: Callable[[LocalFunction, dict[str, Any]], Any],
    ) -> None:
        self.definition, self.__signature__, self._run = definition, signature, run
        self.__name__ = definition.name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        bound = self.__signature__.bind(*arguments, **named)
        bound.apply_defaults()
        return self._run(self, dict(bound.arguments))


def signature_of(node: ast.FunctionDef, evaluate: Callable[[ast.expr], Any]) -> Signature:
    """The parameters of a function that a kernel defines, with the values of their defaults."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    absent = [Parameter.empty] * (len(plain) - len(given.defaults))
    defaults = [*absent, *map(evaluate, given.defaults)]
    found = [
        Parameter(each.arg, Parameter.POSITIONAL_OR_KEYWORD, default=default)
        for each, default in zip(plain, defaults, strict=True)
    ]
    if given.vararg is not None:
        found.append(Parameter(given.vararg.arg, Parameter.VAR_POSITIONAL))
    for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        default = Parameter.empty if value is None else evaluate(value)
        found.append(Parameter(each.arg, Parameter.KEYWORD_ONLY, default=default))
    if given.kwarg is not None:
        found.append(Parameter(given.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(found)


def require_local(node: ast.FunctionDef) -> None:
    """Raise UserError for a function that cannot be defined within a kernel."""
    if node.decorator_list:
        raise UserError(
            f"'{node.name}' has a decorator, within a kernel",
            hints=["write the function outside of the kernel, or a method"],
        )
    if _ends_kernel(node):
        raise UserError(
            f"a bare return in a branch or loop of '{node.name}'",
            notes=["it is a function within a kernel; in a method it ends the kernel"],
            hints=["write a method, return a value, or make the rest conditional"],
        )


def is_transcribed(
    function: FunctionType, given: Sequence[Any], known: Callable[[Any], bool]
) -> bool:
    """Whether a function with these arguments is transcribed: it gets run-time values, and
    consists of syntax that is `known` to the transcriber."""
    if is_own(function) or hasattr(function, "__wrapped__"):
        return False
    return any(map(_is_of_run_time, given)) and _has_known_syntax(function, known)


def is_own(function: Any) -> bool:
    """Whether the language has a function; one of a script that was executed has no module."""
    return (function.__module__ or "").startswith(_OWN)


def is_definition(function: Any) -> bool:
    """Whether a method is written by `def`, and not a lambda, which runs as Python."""
    return getattr(function, "__name__", "") != "<lambda>"


def _is_of_run_time(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return any(map(_is_of_run_time, value))
    return isinstance(value, Data | Memory | Pointer | Instructions)


@cache
def _has_known_syntax(function: FunctionType, known: Callable[[Any], bool]) -> bool:
    if not is_definition(function):
        return False
    try:
        node, _ = syntax_of(function)
    except (UserError, SyntaxError, ValueError):
        return False
    parts = [part for statement in node.body for part in ast.walk(statement)]
    return not _ends_kernel(node) and all(
        known(part) for part in parts if isinstance(part, ast.stmt | ast.expr)
    )


def _ends_kernel(node: ast.FunctionDef) -> bool:
    return any(isinstance(part, KernelEnd) for each in node.body for part in ast.walk(each))
