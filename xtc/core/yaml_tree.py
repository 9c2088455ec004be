# SPDX-License-Identifier: Apache-2.0
"""Reads untrusted YAML as a tree of plain values, each with its location in the text.

A strict subset of YAML 1.2: one document of mappings with text keys, sequences and scalars. Plain
scalars are null, true, false, decimal numbers or texts: `yes`, `0x10`, `1_000` and dates are texts.
Anchors, aliases and tags are refused; text, depth, number of values and length of scalars are
limited. The tree is built from the parser's events, one at a time, so that no input can exhaust the
stack or multiply itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import yaml

from xtc.core.errors import UserError, shown
from xtc.core.location import SourceLocation

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,39})")
_FLOAT = re.compile(r"[-+]?([0-9]+(\.[0-9]*|(?=[eE]))|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")
_NOTHING = re.compile(r"(~|null)?")
_SPECIAL = {
    "true": True, "false": False,
    ".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan,
}  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """Upper limits for a text.

    Attributes:
        text: characters.
        depth: nested collections.
        values: scalars and collections.
        scalar: characters of a scalar.
    """

    text: int
    depth: int
    values: int
    scalar: int


Plain = None | bool | int | float | str


@dataclass(frozen=True)
class Leaf:
    """A scalar."""

    value: Plain
    where: SourceLocation


@dataclass(frozen=True)
class List:
    """A sequence."""

    where: SourceLocation
    items: list[Tree] = field(default_factory=list)


@dataclass(frozen=True)
class Map:
    """A mapping, in the order written, with the location of every key."""

    where: SourceLocation
    items: dict[str, Tree] = field(default_factory=dict)
    keys: dict[str, SourceLocation] = field(default_factory=dict)


Tree = Leaf | List | Map


def read_tree(
    text: str, origin: SourceLocation, limits: Limits, long_keys: Container[str] = ()
) -> Tree | None:
    """The document in `text`, which begins at `origin`; None if it is empty.

    Raises UserError, located in the file of `origin`, for other texts. Only a literal block (`|`)
    under a key in `long_keys` may exceed the scalar limit.
    """
    if len(text) > limits.text:
        raise UserError(f"the text is longer than {limits.text} characters", where=origin)
    try:
        return _built(text, _TreeBuilder(origin, limits, long_keys))
    except yaml.YAMLError as error:
        shallow = _before_nesting(error, text)
        if shallow is not None:
            _built(shallow, _TreeBuilder(origin, limits, long_keys))
        raise _not_yaml(error, text, origin) from None
    except UnicodeError:
        raise UserError("the text has characters that are not Unicode", where=origin) from None


def _built(text: str, builder: _TreeBuilder) -> Tree | None:
    return builder.build(yaml.parse(text, Loader=_LOADER))


def _before_nesting(error: yaml.YAMLError, text: str) -> str | None:
    """The text up to libyaml's own limit of nesting; None for other errors.

    libyaml scans some hundred characters ahead of its events: it can reach that limit before the
    builder, whose limit is lower, sees an event.
    """
    mark = getattr(error, "problem_mark", None)
    if mark is None or "nesting depth" not in str(getattr(error, "problem", "")):
        return None
    return text[: mark.index]


def _inside(origin: SourceLocation, line: int, column: int) -> SourceLocation:
    """The location of a line and column of the text, both counted from 0."""
    first = (origin.column or 1) if line == 0 else 1
    return SourceLocation(origin.file, origin.line + line, first + column)


def kind_of(tree: Tree) -> str:
    """The kind of `tree` as text for messages."""
    if isinstance(tree, List):
        return "a list"
    if isinstance(tree, Map):
        return "a mapping"
    return "nothing" if tree.value is None else shown(tree.value)


def _not_yaml(error: yaml.YAMLError, text: str, origin: SourceLocation) -> UserError:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        where = _inside(origin, mark.line, mark.column) if mark else origin
        words = [word for word in (error.context, error.problem) if word]
        return UserError("this is not YAML", where=where, notes=[", ".join(words)])
    before = text[: getattr(error, "position", 0)]
    where = _inside(origin, before.count("\n"), len(before) - before.rfind("\n") - 1)
    return UserError("the text has characters that YAML does not allow", where=where)


@dataclass
class _TreeBuilder:
    """Builds the tree from events; `open` is the stack of unfinished collections."""

    origin: SourceLocation
    limits: Limits
    long_keys: Container[str]
    open: list[List | Map] = field(default_factory=list)
    key: tuple[str, SourceLocation] | None = None
    root: Tree | None = None
    count: int = 0

    def build(self, events: Iterator[yaml.Event]) -> Tree | None:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
                self.fail("there is a second document", event)
            elif isinstance(event, yaml.AliasEvent):
                self.fail("aliases are not allowed", event)
            elif isinstance(event, yaml.NodeEvent):
                self.node(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self.open.pop()
        return self.root

    def node(self, event: yaml.NodeEvent) -> None:
        self.check(event)
        location = self.location(event)
        if isinstance(event, yaml.ScalarEvent):
            self.scalar(event, location)
            return
        tree = Map(location) if isinstance(event, yaml.MappingStartEvent) else List(location)
        self.attach(tree, event)
        self.open.append(tree)

    def check(self, event: yaml.NodeEvent) -> None:
        self.count += 1
        if self.count > self.limits.values:
            self.fail(f"there are more than {self.limits.values} values", event)
        if len(self.open) >= self.limits.depth:
            self.fail(f"values are nested deeper than {self.limits.depth}", event)
        if event.anchor is not None:
            self.fail("anchors are not allowed", event)
        if getattr(event, "tag", None) is not None:
            self.fail("tags are not allowed", event)

    def scalar(self, event: yaml.ScalarEvent, location: SourceLocation) -> None:
        plain = event.style is None or event.style == ""
        inside = self.open[-1] if self.open else None
        if isinstance(inside, Map) and self.key is None:
            self.take_key(inside, event, location)
            return
        long = event.style == "|" and self.key is not None and self.key[0] in self.long_keys
        if len(event.value) > self.limits.scalar and not long:
            self.fail(f"the value is longer than {self.limits.scalar} characters", event)
        self.attach(Leaf(_resolve(event.value) if plain else event.value, location), event)

    def take_key(self, inside: Map, event: yaml.ScalarEvent, location: SourceLocation) -> None:
        if len(event.value) > self.limits.scalar:
            self.fail(f"the key is longer than {self.limits.scalar} characters", event)
        if event.value in inside.items:
            first = inside.keys[event.value]
            raise UserError(
                f"the key '{event.value}' is given twice",
                where=location,
                notes=[f"first at {first}"],
            )
        self.key = (event.value, location)

    def attach(self, tree: Tree, event: yaml.Event) -> None:
        if not self.open:
            self.root = tree
            return
        inside = self.open[-1]
        if isinstance(inside, List):
            inside.items.append(tree)
        elif self.key is None:
            self.fail("a key is a string", event)
        else:
            name, location = self.key
            inside.items[name], inside.keys[name] = tree, location
            self.key = None

    def location(self, event: yaml.Event) -> SourceLocation:
        mark = event.start_mark
        return _inside(self.origin, mark.line, mark.column) if mark else self.origin

    def fail(self, what: str, event: yaml.Event) -> NoReturn:
        raise UserError(what, where=self.location(event))


def _resolve(text: str) -> Plain:
    """A plain scalar by YAML's core schema; only decimal numbers in range are numbers."""
    if _NOTHING.fullmatch(text):
        return None
    if text in _SPECIAL:
        return _SPECIAL[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text
