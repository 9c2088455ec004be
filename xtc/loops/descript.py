# SPDX-License-Identifier: Apache-2.0
"""Loop nests as plain data or YAML: `{j: {}, k: {}, "i#4": unroll, "j#16": vectorize}`.

Keys are loops from the outermost to the innermost: `i` covers the axis, `i#4` four elements of it,
`i[0:48]` opens a segment whose value is a nest of its own. Values say what is done to the loop:
nothing, a word, a list of words, or a mapping such as `{unroll: 4, pack: 1}`. A list of loops does
as well, as in `[i, j, "i#4=unroll", "j#16=vectorize"]`. `distribute: px` shares a loop between
processors, and `spread: {1: [mx, "*"]}` cuts an operand between their memories.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from xtc.core.errors import UserError, about, did_you_mean, located, shown
from xtc.loops.check import check_axis
from xtc.loops.nest import ALL, Axis, Nest, NestLoop, Segment, Space
from xtc.loops.yaml_text import Located, parse_yaml, plain

_NAME = r"(?P<axis>[A-Za-z_][A-Za-z0-9_]{0,63})"
_LOOP = re.compile(rf"{_NAME}(#(?P<tile>-?[0-9]{{1,40}}))?")
_SEGMENT = re.compile(rf"{_NAME}\[(?P<start>[0-9]{{0,40}}):(?P<stop>[0-9]{{0,40}})\]")
_WORDS = ("unroll", "vectorize", "parallelize", "buffer", "pack", "fuse", "distribute", "spread")
MAX_DEPTH = 16
MAX_PARTS = 1024
"""Loops and segments of one nest; a schedule that a person or a search writes has a few dozen."""


def parse_nest(data: object, space: Space, title: str) -> Nest:
    """The nest that `data` describes, completed but not yet checked for legality.

    Args:
        data: YAML text, a mapping, a list, or a part of a parsed document.
        space: what the operation runs over.
        title: the operation's name, for messages.

    Raises UserError, with line and column where `data` is text.
    """
    with about(title):
        tree = data if isinstance(data, Located) else plain(data)
        if isinstance(tree.value, str):
            tree = parse_yaml(tree.value)
        return _Reader(title).nest(tree, space.axes).fitted(space).with_factors()


class _Reader:
    """Reads the nest of one operation."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.count = 0

    def nest(self, tree: Located, axes: tuple[Axis, ...], depth: int = 0) -> Nest:
        """The nest as it is written; only the sizes of axes that segments cut are right inside."""
        if depth > MAX_DEPTH:
            raise UserError(f"the schedule of {self.title} is nested too deep", where=tree.where)
        loops: list[NestLoop] = []
        segments: list[Segment] = []
        for key, value in self._items(tree):
            with located(key.where):
                self._count_one()
                text = str(key.value)
                match = _SEGMENT.fullmatch(text)
                if match is not None:
                    segments.append(self._segment(match, value, axes, depth))
                elif segments:
                    raise UserError(
                        f"{shown(text)} follows a segment of {self.title}",
                        hints=["put it inside the segments, or before them"],
                    )
                else:
                    loop = self._loop(text, value, axes)
                    loops.append(replace(loop, where=key.where))
        return Nest(Space(axes), tuple(loops), tuple(segments))

    def _count_one(self) -> None:
        self.count += 1
        if self.count > MAX_PARTS:
            raise UserError(f"the schedule of {self.title} has more than {MAX_PARTS} loops")

    def _items(self, tree: Located) -> Iterator[tuple[Located, Located]]:
        if tree.value is None:
            return
        if isinstance(tree.value, dict):
            yield from tree.value.items()
        elif isinstance(tree.value, list):
            for item in tree.value:
                yield from self._item(item)
        else:
            raise UserError(
                f"the schedule of {self.title} is {shown(tree.value)}, not loops", where=tree.where
            )

    def _item(self, item: Located) -> Iterator[tuple[Located, Located]]:
        """A part of a list: a mapping, a loop, or a loop and what is done to it after a `=`."""
        if isinstance(item.value, dict):
            yield from item.value.items()
        elif isinstance(item.value, str):
            key, _, words = item.value.partition("=")
            parts = [Located(word, item.where) for word in words.split(",") if word]
            yield Located(key, item.where), Located(parts, item.where)
        else:
            raise UserError(
                f"{_kind(item)} in the schedule of {self.title} is no loop",
                where=item.where,
                hints=["write loops as text: i, i#4, i[0:48], or 'i#4=unroll'"],
            )

    def _segment(
        self, match: re.Match[str], value: Located, axes: tuple[Axis, ...], depth: int
    ) -> Segment:
        name = match["axis"]
        check_axis(name, Space(axes), self.title)
        start, stop = int(match["start"] or 0), int(match["stop"] or Space(axes).size(name))
        cut = tuple(replace(a, size=stop - start) if a.name == name else a for a in axes)
        return Segment(name, start, stop, self.nest(value, cut, depth + 1))

    def _loop(self, text: str, value: Located, axes: tuple[Axis, ...]) -> NestLoop:
        match = _LOOP.fullmatch(text)
        if match is None:
            raise UserError(
                f"{shown(text)} is not a loop of {self.title}",
                hints=["write an axis (i), a tile of it (i#4), or a segment (i[0:48])"],
            )
        check_axis(match["axis"], Space(axes), self.title)
        loop = NestLoop(match["axis"], int(match["tile"]) if match["tile"] else None)
        seen = set()
        for word, argument in _annotations(value, loop.name):
            if word in seen:
                raise UserError(f"'{loop.name}' of {self.title} is to {word} twice")
            seen.add(word)
            loop = _annotate(loop, word, argument)
        return loop


def _annotations(value: Located, loop: str) -> list[tuple[str, Any]]:
    with located(value.where):
        if value.value is None:
            return []
        if isinstance(value.value, dict):
            found = [(key.value, _argument(item)) for key, item in value.value.items()]
        elif isinstance(value.value, list):
            found = [_word(item.value, loop) for item in value.value]
        else:
            found = [_word(value.value, loop)]
        for word, _ in found:
            if word not in _WORDS:
                hints = did_you_mean(word, _WORDS)
                raise UserError(f"'{loop}' cannot be {shown(word)}", hints=hints)
        return found


def _word(value: object, loop: str) -> tuple[str, Any]:
    """A word and, after a colon, its number: `unroll`, `unroll:4`."""
    if not isinstance(value, str):
        raise UserError(
            f"'{loop}' cannot be {_kind(value)}", hints=[f"one of: {', '.join(_WORDS)}"]
        )
    word, colon, number = value.partition(":")
    if not colon:
        return word, None
    return word, int(number) if re.fullmatch(r"-?[0-9]{1,40}", number) else number


def _argument(item: Located) -> Any:
    if isinstance(item.value, dict):
        return {key.value: _argument(one) for key, one in item.value.items()}
    if isinstance(item.value, list):
        return [one.value for one in item.value]
    return item.value


def _annotate(loop: NestLoop, word: str, argument: Any) -> NestLoop:
    if word == "unroll":
        return replace(loop, unroll=_unroll_factor(loop, argument))
    if word == "pack":
        return replace(loop, pack=_operands(loop, word, argument))
    if word == "fuse":
        return replace(loop, fuse=_operands(loop, word, argument))
    if word == "distribute":
        return replace(loop, distribute=_mesh_axis(loop, argument))
    if word == "spread":
        return replace(loop, spread=_spread(loop, argument))
    if argument is not None and argument is not True:
        raise UserError(f"{word} of '{loop.name}' takes no value, not {_kind(argument)}")
    return _FLAGS[word](loop)


_FLAGS: dict[str, Callable[[NestLoop], NestLoop]] = {
    "vectorize": lambda loop: replace(loop, vectorize=True),
    "parallelize": lambda loop: replace(loop, parallelize=True),
    "buffer": lambda loop: replace(loop, buffer=True),
}


def _unroll_factor(loop: NestLoop, argument: Any) -> int:
    """The factor given, or all iterations."""
    if argument is None or argument is True:
        return ALL
    if isinstance(argument, int) and not isinstance(argument, bool):
        if argument < 1:
            raise UserError(f"'{loop.name}' cannot be unrolled by {shown(argument)}")
        return argument
    raise UserError(f"unroll of '{loop.name}' takes a number, not {_kind(argument)}")


def _operands(loop: NestLoop, word: str, argument: Any) -> tuple[int, ...]:
    numbers = argument if isinstance(argument, list) else [argument]
    if not numbers or not all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
        raise UserError(
            f"{word} of '{loop.name}' takes operand numbers, not {_kind(argument)}",
            hints=[f"{{{word}: 1}} means the second operand"],
        )
    return tuple(numbers)


def _mesh_axis(loop: NestLoop, argument: Any) -> str:
    if not isinstance(argument, str):
        raise UserError(
            f"distribute of '{loop.name}' takes an axis of the processor mesh, not "
            f"{_kind(argument)}",
            hints=["{distribute: px}"],
        )
    return argument


def _spread(loop: NestLoop, argument: Any) -> tuple[tuple[int, tuple[str, ...]], ...]:
    found = argument.items() if isinstance(argument, dict) else ()
    pairs = [(str(operand), axes) for operand, axes in found]
    if not pairs or not all(
        re.fullmatch(r"[0-9]{1,9}", operand)
        and isinstance(axes, list)
        and all(isinstance(axis, str) for axis in axes)
        for operand, axes in pairs
    ):
        raise UserError(
            f"spread of '{loop.name}' takes axes of the memory mesh by operand",
            hints=["{spread: {1: [mx, '*']}} cuts the first dimension of the second operand"],
        )
    return tuple((int(operand), tuple(axes)) for operand, axes in pairs)


def _kind(value: object) -> str:
    """A value of parsed data, for messages."""
    if isinstance(value, Located):
        value = value.value
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return shown(value)


def nest_data(nest: Nest) -> str:
    """The nest as one line of YAML that `parse_nest` reads back; names of loops are not kept."""
    parts = [_loop_data(loop) for loop in nest.loops]
    parts += [f"'{segment.name}': {nest_data(segment.nest)}" for segment in nest.segments]
    return "{" + ", ".join(parts) + "}"


def _loop_data(loop: NestLoop) -> str:
    key = loop.axis if loop.tile is None else f"{loop.axis}#{loop.tile}"
    words = [
        f"{word}: true" for word in ("parallelize", "vectorize", "buffer") if getattr(loop, word)
    ]
    if loop.unroll:
        words.append(f"unroll: {loop.unroll}")
    words += [
        f"{word}: {list(getattr(loop, word))}" for word in ("pack", "fuse") if getattr(loop, word)
    ]
    if loop.distribute:
        words.append(f"distribute: {loop.distribute}")
    if loop.spread:
        words.append(f"spread: {{{', '.join(_spread_data(*one) for one in loop.spread)}}}")
    return f"{key}: {{{', '.join(words)}}}"


def _spread_data(operand: int, axes: tuple[str, ...]) -> str:
    return f"{operand}: [{', '.join(chr(39) + axis + chr(39) for axis in axes)}]"


def nest_line(nest: Nest) -> str:
    """A nest without segments as one line, `["j", "i", "i#4=unroll"]`, that `parse_nest` reads."""
    return json.dumps([_item(loop) for loop in nest.loops])


def _item(loop: NestLoop) -> str:
    key = loop.axis if loop.tile is None else f"{loop.axis}#{loop.tile}"
    words = [word for word in _FLAGS if getattr(loop, word)]
    if loop.unroll:
        words.append("unroll" if loop.unroll == ALL else f"unroll:{loop.unroll}")
    words += [f"{word}:{n}" for word in ("pack", "fuse") for n in getattr(loop, word)]
    words += [f"distribute:{loop.distribute}"] * bool(loop.distribute)
    return f"{key}={','.join(words)}" if words else key
