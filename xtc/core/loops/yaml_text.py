# SPDX-License-Identifier: Apache-2.0
"""Small YAML documents as plain data that remembers lines and columns; nothing else gets through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from xtc.core.errors import UserError
from xtc.core.location import SourceLocation

MAX_CHARACTERS = 1 << 16
MAX_DEPTH = 40


@dataclass(frozen=True, eq=False)
class Located:
    """A value and where it stands: None, a scalar, a list of Located, a dict of Located."""

    value: Any
    where: SourceLocation | None = None


def parse_yaml(text: str, file: str = "<schedule>") -> Located:
    """The document in `text`. Raises UserError with line and column."""
    if len(text) > MAX_CHARACTERS:
        raise UserError(f"{file} has {len(text)} characters; {MAX_CHARACTERS} at most")
    try:
        _check_events(text, file)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        where = _where(error.problem_mark, file) if error.problem_mark else file
        raise UserError(f"not YAML: {error.problem}", where=where) from None
    except yaml.YAMLError as error:
        raise UserError(f"not YAML: {error}", where=file) from None
    return Located(None) if node is None else _located(node, file)


def _check_events(text: str, file: str) -> None:
    """Refuse deep nesting and aliases before anything recursive runs."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise UserError("aliases are not allowed", where=_where(event.start_mark, file))
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise UserError("nested too deep", where=_where(event.start_mark, file))


def _where(mark: yaml.Mark, file: str) -> SourceLocation:
    return SourceLocation(file, mark.line + 1, mark.column + 1)


def _located(node: yaml.Node, file: str) -> Located:
    where = _where(node.start_mark, file)
    if isinstance(node, yaml.MappingNode):
        return Located(_mapping(node, file), where)
    if isinstance(node, yaml.SequenceNode):
        return Located([_located(item, file) for item in node.value], where)
    return Located(_scalar(node, where), where)


def _mapping(node: yaml.MappingNode, file: str) -> dict[Located, Located]:
    result: dict[Located, Located] = {}
    seen: set[str] = set()
    for key, value in node.value:
        located = Located(getattr(key, "value", None), _where(key.start_mark, file))
        if not isinstance(key, yaml.ScalarNode):
            raise UserError("a key is a name", where=located.where)
        if key.value in seen:
            raise UserError(f"'{key.value}' is written twice", where=located.where)
        seen.add(key.value)
        result[located] = _located(value, file)
    return result


_TAGS = {
    "null": lambda _: None,
    "bool": lambda text: text.lower() in ("true", "yes", "on"),
    "str": str,
}


def _scalar(node: yaml.Node, where: SourceLocation) -> Any:
    tag = node.tag.removeprefix("tag:yaml.org,2002:")
    if tag == "int":
        return _integer(node.value, where)
    if tag not in _TAGS:
        raise UserError(f"{node.value!r} is a {tag}, which has no meaning here", where=where)
    return _TAGS[tag](node.value)


def _integer(text: str, where: SourceLocation) -> int:
    try:
        return int(text.replace("_", "")[:32], 0)
    except ValueError:
        raise UserError(f"{text!r} is not a number", where=where) from None


def plain(data: object, depth: int = 0) -> Located:
    """Python data in the same form, without places. Raises UserError for other types."""
    if depth > MAX_DEPTH:
        raise UserError("the data is nested too deep")
    if data is None or isinstance(data, bool | int | str):
        return Located(data)
    if isinstance(data, dict):
        return Located({Located(_key(k)): plain(v, depth + 1) for k, v in data.items()})
    if isinstance(data, list | tuple):
        return Located([plain(item, depth + 1) for item in data])
    raise UserError(f"{type(data).__name__} has no meaning in a schedule")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise UserError(f"a key is a name, not {key!r}")
    return key
