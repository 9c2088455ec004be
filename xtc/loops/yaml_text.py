# SPDX-License-Identifier: Apache-2.0
"""Small YAML documents as plain data that remembers lines and columns; nothing else passes."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, SupportsIndex

import yaml

from xtc.core.errors import UserError, shown
from xtc.core.location import SourceLocation

UNNAMED = "<schedule>"
"""What places call a text of no file."""
MAX_CHARACTERS = 1 << 16
MAX_DEPTH = 40
MAX_DIGITS = 64


@dataclass(frozen=True, eq=False)
class Located:
    """A value and where it stands: None, a scalar, a list of Located, a dict of Located."""

    value: Any
    where: SourceLocation | None = None


class _Loader(yaml.SafeLoader):
    """Composes nodes, not objects; refuses deep nesting and aliases before it descends."""

    def __init__(self, text: str, origin: SourceLocation) -> None:
        super().__init__(text)
        self._origin = origin
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise UserError("aliases are not allowed", where=_where(event.start_mark, self._origin))
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UserError("nested too deep", where=_where(event.start_mark, self._origin))
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def parse_yaml(text: str, origin: SourceLocation | str = UNNAMED) -> Located:
    """The document in `text`. Raises UserError with line and column.

    `origin` is the file that the text is, or where it begins in a file.
    """
    start = SourceLocation(origin, 1, 1) if isinstance(origin, str) else origin
    if len(text) > MAX_CHARACTERS:
        raise UserError(f"{start.file} has {len(text)} characters; {MAX_CHARACTERS} at most")
    try:
        node = _Loader(text, start).get_single_node()
    except yaml.MarkedYAMLError as error:
        where = _where(error.problem_mark, start) or start.file
        raise UserError(f"not YAML: {error.problem}", where=where) from None
    except yaml.YAMLError as error:
        raise UserError(f"not YAML: {error}", where=start.file) from None
    return Located(None) if node is None else _located(node, start)


def _where(mark: Any, origin: SourceLocation) -> SourceLocation | None:
    if mark is None:
        return None
    left = (origin.column or 1) if mark.line == 0 else 1
    return SourceLocation(origin.file, origin.line + mark.line, left + mark.column)


def _located(node: yaml.Node, origin: SourceLocation) -> Located:
    where = _where(node.start_mark, origin)
    tag = _tag(node)
    if not isinstance(node, yaml.ScalarNode) and tag not in ("map", "seq"):
        raise UserError(f"{shown(tag)} has no meaning here", where=where)
    if isinstance(node, yaml.MappingNode):
        return Located(_mapping(node, origin), where)
    if isinstance(node, yaml.SequenceNode):
        return Located([_located(item, origin) for item in node.value], where)
    return Located(_scalar(node, where), where)


def _tag(node: yaml.Node) -> str:
    return str(node.tag).removeprefix("tag:yaml.org,2002:")


def _mapping(node: yaml.MappingNode, origin: SourceLocation) -> dict[Located, Located]:
    result: dict[Located, Located] = {}
    seen: set[str] = set()
    for key, value in node.value:
        located = Located(getattr(key, "value", None), _where(key.start_mark, origin))
        if not isinstance(key, yaml.ScalarNode):
            raise UserError("a key is a name", where=located.where)
        if key.value in seen:
            raise UserError(f"{shown(key.value)} is written twice", where=located.where)
        seen.add(key.value)
        result[located] = _located(value, origin)
    return result


_TAGS: dict[str, Callable[[str], Any]] = {
    "null": lambda _: None,
    "bool": lambda text: text.lower() in ("true", "yes", "on"),
    "str": str,
}


def _scalar(node: yaml.Node, where: SourceLocation | None) -> Any:
    tag = _tag(node)
    if tag == "int":
        return _integer(node.value, where)
    if tag not in _TAGS:
        value = shown(node.value)
        raise UserError(f"{value} is a {shown(tag)}, which has no meaning here", where=where)
    return _TAGS[tag](node.value)


def _integer(text: str, where: SourceLocation | None) -> int:
    try:
        if len(text) <= MAX_DIGITS:
            return int(text.replace("_", ""), 0)
    except ValueError:
        pass
    raise UserError(f"{shown(text)} is not a number", where=where)


def plain(data: object) -> Located:
    """Python data in the same form, without places. Raises UserError for other types."""
    return _plain(data, 0, itertools.count())


def _plain(data: object, depth: int, count: Iterator[int]) -> Located:
    if depth > MAX_DEPTH:
        raise UserError("the data is nested too deep")
    if next(count) > MAX_CHARACTERS:
        raise UserError(f"the data has more than {MAX_CHARACTERS} parts")
    if data is None or isinstance(data, bool | str):
        return Located(data)
    if isinstance(data, SupportsIndex):
        return Located(_bounded(operator.index(data)))
    if isinstance(data, Mapping):
        items = ((Located(_key(k)), _plain(v, depth + 1, count)) for k, v in data.items())
        return Located(dict(items))
    if isinstance(data, list | tuple):
        return Located([_plain(item, depth + 1, count) for item in data])
    raise UserError(f"{type(data).__name__} has no meaning in a schedule")


def _bounded(number: int) -> int:
    if number.bit_length() > MAX_DIGITS:
        raise UserError(f"{shown(number)} is beyond any size")
    return number


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise UserError(f"a key is a name, not {shown(key)}")
    return key
