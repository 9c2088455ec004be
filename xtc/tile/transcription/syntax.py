# SPDX-License-Identifier: Apache-2.0
"""Syntax trees of a kernel's methods, and the names that they assign."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Sequence
from functools import cache
from types import FunctionType
from typing import Any

from xtc.core.errors import UserError
from xtc.core.location import shortened
from xtc.tile.transcription.kernel_ends import mark_ends
from xtc.tile.values.errors import Source


def stored(nodes: Sequence[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that syntax nodes assign, without loop variables, and the names that they change by
    `+=` and the like."""
    walked = list(itertools.chain.from_iterable(map(ast.walk, nodes)))
    loops = [node.target for node in walked if isinstance(node, ast.For | ast.comprehension)]
    variables = {id(name) for target in loops for name in ast.walk(target)}
    changed = {id(node.target) for node in walked if isinstance(node, ast.AugAssign)}
    names = [n for n in walked if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return (
        {name.id for name in names if id(name) not in variables | changed},
        {name.id for name in names if id(name) in changed},
    )


@cache
def syntax_of(function: FunctionType) -> tuple[ast.FunctionDef, Source]:
    """The syntax tree of a function, with the line numbers of its file.

    Raises UserError if the source cannot be read.
    """
    try:
        lines, first = inspect.getsourcelines(function)
        whole, _ = inspect.findsource(function)
    except (OSError, TypeError):
        raise UserError(
            f"the source of '{function.__qualname__}' cannot be read",
            hints=["a kernel is transcribed from its source: write it in a file"],
        ) from None
    text = textwrap.dedent("".join(lines))
    tree = ast.parse(text)
    indent = len(lines[0]) - len(lines[0].lstrip())
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno += first - 1
            node.col_offset += indent  # type: ignore[attr-defined]
    (found,) = tree.body
    if not isinstance(found, ast.FunctionDef):
        raise UserError(f"'{function.__qualname__}' is not a method")
    mark_ends(found)
    file = shortened(function.__code__.co_filename)
    return found, Source(file, tuple(line.rstrip("\n") for line in whole))


def loaded(target: ast.expr) -> ast.expr:
    """The same target, as an expression that reads it."""
    copy: ast.expr = ast.parse(ast.unparse(target), mode="eval").body
    for node in ast.walk(copy):
        if hasattr(node, "lineno"):
            ast.copy_location(node, target)
    return copy


def in_parts(names: Sequence[ast.expr], values: list[Any]) -> list[Any]:
    """Values for names, of which a starred one gets a list of those that are left."""
    starred = [at for at, name in enumerate(names) if isinstance(name, ast.Starred)]
    if not starred or len(values) < len(names) - 1:
        return values
    first, last = starred[0], len(values) - (len(names) - 1 - starred[0])
    return [*values[:first], values[first:last], *values[last:]]
