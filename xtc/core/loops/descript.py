# SPDX-License-Identifier: Apache-2.0
"""Loop nests as plain data or YAML: `{j: {}, k: {}, "i#4": unroll, "j#16": vectorize}`.

Keys are loops from the outermost to the innermost: `i` covers the axis, `i#4` four elements of it,
`i[0:48]` opens a segment whose value is a nest of its own. Values say what is done to the loop:
nothing, a word, a list of words, or a mapping such as `{unroll: 4, pack: 1}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xtc.core.errors import UserError, did_you_mean, located
from xtc.core.loops.nest import Axis, Nest, NestLoop, Segment
from xtc.core.loops.yaml_text import Located, parse_yaml, plain

_LOOP = re.compile(r"(?P<axis>[A-Za-z_][A-Za-z0-9_]*)(#(?P<tile>-?[0-9]{1,18}))?")
_SEGMENT = re.compile(
    r"(?P<axis>[A-Za-z_][A-Za-z0-9_]*)\[(?P<start>[0-9]{0,18}):(?P<stop>[0-9]{0,18})\]"
)
_WORDS = ("unroll", "vectorize", "parallelize", "buffer", "pack", "fuse")
MAX_DEPTH = 16


def parse_nest(data: object, axes: Sequence[Axis], operands: int, title: str) -> Nest:
    """The nest that `data` describes, completed but not yet checked for legality.

    Args:
        data: YAML text, a mapping, or a part of a parsed document.
        axes: the operation's iteration space.
        operands: how many operands it reads.
        title: the operation's name, for messages.

    Raises UserError, with line and column where `data` is text.
    """
    if isinstance(data, Located):
        tree = data
    else:
        tree = parse_yaml(data) if isinstance(data, str) else plain(data)
    return _nest(tree, tuple(axes), operands, title, 0)


def _nest(tree: Located, axes: tuple[Axis, ...], operands: int, title: str, depth: int) -> Nest:
    if depth > MAX_DEPTH:
        raise UserError(f"the schedule of {title} is nested too deep", where=tree.where)
    loops: list[NestLoop] = []
    segments: list[Segment] = []
    for key, value in _items(tree, title):
        with located(key.where):
            text = str(key.value)
            match = _SEGMENT.fullmatch(text)
            if match is not None:
                bounds = _bounds(match, axes)
                inner = tuple(_part(axis, match["axis"], *bounds) for axis in axes)
                nest = _nest(value, _left(inner, loops), operands, title, depth + 1)
                segments.append(Segment(match["axis"], *bounds, nest))
            elif segments:
                raise UserError(f"'{text}' follows a segment of {title}; put it inside or before")
            else:
                loops.append(_loop(text, value, title, axes))
    return Nest(axes, tuple(loops), tuple(segments), operands).completed()


def _left(axes: tuple[Axis, ...], loops: Sequence[NestLoop]) -> tuple[Axis, ...]:
    """The iteration space inside `loops`: what one iteration of them leaves to do."""
    sizes = {axis.name: axis.size for axis in axes}
    for loop in loops:
        sizes[loop.axis] = 1 if loop.tile is None else loop.tile
    return tuple(replace(axis, size=sizes[axis.name]) for axis in axes)


def _items(tree: Located, title: str) -> list[tuple[Located, Located]]:
    if tree.value is None:
        return []
    if isinstance(tree.value, dict):
        return list(tree.value.items())
    if isinstance(tree.value, list):
        empty = Located(None, tree.where)
        return [(item, empty) for item in tree.value]
    raise UserError(f"the schedule of {title} is a mapping of loops", where=tree.where)


def _bounds(match: re.Match[str], axes: Sequence[Axis]) -> tuple[int, int]:
    size = next((axis.size for axis in axes if axis.name == match["axis"]), 0)
    return int(match["start"] or 0), int(match["stop"] or size)


def _part(axis: Axis, name: str, start: int, stop: int) -> Axis:
    return replace(axis, size=stop - start) if axis.name == name else axis


def _loop(text: str, value: Located, title: str, axes: Sequence[Axis]) -> NestLoop:
    match = _LOOP.fullmatch(text)
    if match is None:
        raise UserError(
            f"{text!r} is not a loop of {title}",
            hints=["write an axis (i), a tile of it (i#4), or a segment (i[0:48])"],
        )
    tile = int(match["tile"]) if match["tile"] else None
    loop = NestLoop(match["axis"], tile)
    for word, argument in _annotations(value, text):
        loop = _annotate(loop, word, argument, axes)
    return loop


def _annotations(value: Located, loop: str) -> list[tuple[str, Any]]:
    with located(value.where):
        found: list[tuple[str, Any]] = []
        if value.value is None:
            return found
        if isinstance(value.value, str):
            found = [(value.value, None)]
        elif isinstance(value.value, list):
            found = [(str(item.value), None) for item in value.value]
        elif isinstance(value.value, dict):
            found = [(str(key.value), _argument(item)) for key, item in value.value.items()]
        else:
            raise UserError(
                f"'{loop}' cannot be {value.value!r}", hints=[f"one of: {', '.join(_WORDS)}"]
            )
        for word, _ in found:
            if word not in _WORDS:
                raise UserError(f"'{loop}' cannot be {word!r}", hints=did_you_mean(word, _WORDS))
        return found


def _argument(item: Located) -> Any:
    if isinstance(item.value, list):
        return [one.value for one in item.value]
    return item.value


def _annotate(loop: NestLoop, word: str, argument: Any, axes: Sequence[Axis]) -> NestLoop:
    if word == "unroll":
        return replace(loop, unroll=_unroll_factor(loop, argument, axes))
    if word in ("pack", "fuse"):
        return replace(loop, **{word: _operands(loop, word, argument)})
    if argument not in (None, True):
        raise UserError(f"{word} of '{loop.name}' takes no value, not {argument!r}")
    return replace(loop, **{word: True})


def _unroll_factor(loop: NestLoop, argument: Any, axes: Sequence[Axis]) -> int:
    """The factor given; without one, all iterations (of a loop whose tile is not tiled again)."""
    if argument is None or argument is True:
        size = next((axis.size for axis in axes if axis.name == loop.axis), 0)
        return loop.tile if loop.tile is not None else size
    if isinstance(argument, int):
        return argument
    raise UserError(f"unroll of '{loop.name}' takes a number, not {argument!r}")


def _operands(loop: NestLoop, word: str, argument: Any) -> tuple[int, ...]:
    numbers = argument if isinstance(argument, list) else [argument]
    if not numbers or not all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
        raise UserError(
            f"{word} of '{loop.name}' takes operand numbers, not {argument!r}",
            hints=[f"{{{word}: 1}} means the second operand"],
        )
    return tuple(numbers)


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
    return f"{key}: {{{', '.join(words)}}}"
