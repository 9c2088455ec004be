# SPDX-License-Identifier: Apache-2.0
"""The attributes, and whether elements of lists, that a kernel rebinds to another tile by `=`.

All others refer to the same tile throughout the kernel.
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
"""The key for elements of lists and dictionaries."""


@cache
def rebound(cls: type) -> frozenset[str]:
    """The attributes that methods of a class other than `__init__` assign, of any object."""
    methods = [
        value
        for each in cls.__mro__
        if not (each.__module__ or "").startswith(_OWN)
        for name, value in vars(each).items()
        if isinstance(value, FunctionType) and name != "__init__"
    ]
    return frozenset().union(*map(_assigned, methods))


@cache
def _assigned(function: FunctionType) -> frozenset[str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):  # generated: it assigns no attributes of kernels
        return frozenset()
    return frozenset(name for node in ast.walk(tree) for name in _targets(node))


def _targets(node: ast.AST) -> Iterator[str]:
    """The targets of an assignment statement."""
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
