# SPDX-License-Identifier: Apache-2.0
"""Which attributes, and whether elements of lists, a kernel lets hold another tile by `=`.

Others hold the same tile for as long as the kernel runs, under every name that it has.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from types import FunctionType

_OWN = "xtc.tile."  # whose classes keep their tiles
ELEMENTS = "[]"
"""Stands for the elements of lists and dictionaries."""


@cache
def rebound(cls: type) -> frozenset[str]:
    """The attributes that methods of a class assign, of any object, but for its `__init__`."""
    methods = [
        value
        for each in cls.__mro__
        if not each.__module__.startswith(_OWN)
        for name, value in vars(each).items()
        if isinstance(value, FunctionType) and name != "__init__"
    ]
    return frozenset().union(*map(_assigned, methods))


@cache
def _assigned(function: FunctionType) -> frozenset[str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):  # made by a program: it assigns nothing of a kernel's
        return frozenset()
    return frozenset(name for node in ast.walk(tree) for name in _targets(node))


def _targets(node: ast.AST) -> Iterator[str]:
    """What a statement assigns by `=`."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.For):
        targets = [node.target]
    else:
        return
    for part in (part for target in targets for part in ast.walk(target)):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            yield part.attr
        elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
            yield ELEMENTS
