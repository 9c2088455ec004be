# SPDX-License-Identifier: Apache-2.0
"""Schedules in YAML or Python data, as plain data with lines and columns."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, SupportsIndex

from xtc.core.errors import UserError, shown
from xtc.core.location import SourceLocation
from xtc.core.yaml_tree import Limits, List, Map, Tree, read_tree

UNNAMED = "<schedule>"
"""The name of a text without a file, in locations."""
LIMITS = Limits(text=1 << 16, depth=40, values=1 << 16, scalar=1 << 16)
"""Upper limits of a schedule, as text or as data."""
MAX_BITS = 64


@dataclass(frozen=True, eq=False)
class Located:
    """A value with its location: None, a scalar, a list of Located, or a dict of Located."""

    value: Any
    where: SourceLocation | None = None


def parse_yaml(text: str, origin: SourceLocation | str = UNNAMED) -> Located:
    """The document in `text`. Raises UserError with line and column.

    `origin` is the text's file, or the location of its start in a file.
    """
    start = SourceLocation(origin, 1, 1) if isinstance(origin, str) else origin
    tree = read_tree(text, start, LIMITS)
    return Located(None) if tree is None else _located(tree)


def _located(tree: Tree) -> Located:
    if isinstance(tree, List):
        return Located([_located(item) for item in tree.items], tree.where)
    if isinstance(tree, Map):
        items = ((Located(key, tree.keys[key]), _located(item)) for key, item in tree.items.items())
        return Located(dict(items), tree.where)
    if isinstance(tree.value, float):
        raise UserError(f"{tree.value} has no meaning in a schedule", where=tree.where)
    return Located(tree.value, tree.where)


def plain(data: object) -> Located:
    """Python data in the same form, without locations. Raises UserError for other types."""
    return _plain(data, 0, itertools.count())


def _plain(data: object, depth: int, count: Iterator[int]) -> Located:
    if depth > LIMITS.depth:
        raise UserError("the data is nested too deep")
    if next(count) > LIMITS.values:
        raise UserError(f"the data has more than {LIMITS.values} parts")
    if data is None or isinstance(data, bool | str):
        return Located(data)
    if isinstance(data, SupportsIndex):
        return Located(_bounded(operator.index(data)))
    if isinstance(data, Mapping):
        items = ((Located(_key(k, depth)), _plain(v, depth + 1, count)) for k, v in data.items())
        return Located(dict(items))
    if isinstance(data, list | tuple):
        return Located([_plain(item, depth + 1, count) for item in data])
    raise UserError(f"{type(data).__name__} has no meaning in a schedule")


def _bounded(number: int) -> int:
    if number.bit_length() > MAX_BITS:
        raise UserError(f"{shown(number)} is out of range")
    return number


def _key(key: object, depth: int) -> str:
    """A name; within annotations also the number of an operand."""
    if depth > 1 and isinstance(key, int) and not isinstance(key, bool):
        return str(_bounded(key))
    if not isinstance(key, str):
        raise UserError(f"a key is a name, not {shown(key)}")
    return key
