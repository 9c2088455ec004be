# SPDX-License-Identifier: Apache-2.0
"""Loop nests as plain data or YAML: `{j: {}, k: {}, "i#4": unroll, "j#16": vectorize}`.

Keys are loops from the outermost to the innermost: `i` covers the axis, `i#4` four elements of it,
`i[0:48]` opens a segment whose value is another nest, `i[:48:]` a segment of 48 elements, and
`i[:]` a segment of the rest. Values annotate the loop: nothing, annotations in a text
or a list, or a mapping such as `{unroll: 4, pack: 1}`. A list of loops is equivalent, as in
`[i, j, "i#4=unroll", "j#16=vectorize"]`. `distribute: px` distributes a loop over processors, and
`shard: {1: [mx, "*"]}` shards an operand over their memories. `dims: [I, J, K]` renames the axes;
`B: pack`, after a loop, packs the second operand there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from xtc.core.errors import UserError, about, located, shown
from xtc.loops.annotations import annotated, is_padded, kind_of, read_annotations
from xtc.loops.check import check_axis
from xtc.loops.nest import Axis, Nest, NestLoop, Segment, Space
from xtc.loops.normalize import normalized
from xtc.loops.yaml_text import Located, parse_yaml, plain

_NAME = r"(?P<axis>[A-Za-z_][A-Za-z0-9_]{0,63})"
_OF_OPERANDS = ("pack", "fuse")  # `pack:0 pack:1` packs both
_LOOP = re.compile(rf"{_NAME}(#(?P<tile>-?[0-9]{{1,40}}))?")
_SEGMENT = re.compile(
    rf"{_NAME}\[((?P<start>[0-9]{{0,40}}):(?P<stop>[0-9]{{0,40}})|:(?P<size>[0-9]{{1,40}}):)\]"
)
_DIMS, _SIZE = "dims", "size"
MAX_DEPTH = 16
MAX_PARTS = 1024
"""Loops and segments of one nest, at most; real schedules have a few dozen."""


def parse_nest(data: object, space: Space, title: str) -> Nest:
    """Parse a nest; it is completed and normalized, but not checked for legality.

    Args:
        data: YAML text, a mapping, a list, or a part of a parsed document.
        space: the operation's iteration space.

        title: the operation's name, for messages.
    Raises UserError, with line and column if `data` is text.
    """
    return normalized(written_nest(data, space, title))


def written_nest(data: object, space: Space, title: str) -> Nest:
    """The nest as written, with all loops; otherwise like `parse_nest`."""
    with about(title):
        tree = data if isinstance(data, Located) else plain(data)
        if isinstance(tree.value, str):
            tree = parse_yaml(tree.value)
        reader = _Reader(title, space)
        return replace(reader.nest(tree, space.axes).fitted(space), notes=tuple(reader.notes))


@dataclass
class _Reader:
    """Reads the nest of one operation.

    Attributes:
        title: the operation's name, for messages.
        space: its iteration space.
        names: the axis of each alternative name.
        notes: annotations without effect.
    """

    title: str
    space: Space
    names: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _count: int = 0

    def nest(self, tree: Located, axes: tuple[Axis, ...], depth: int = 0) -> Nest:
        """The nest as written; axes have the sizes that enclosing loops leave."""
        if depth > MAX_DEPTH:
            raise UserError(f"the schedule of {self.title} is nested too deep", where=tree.where)
        loops: list[NestLoop] = []
        vectors: list[NestLoop] = []
        segments: list[Segment] = []
        for key, value in self._items(tree):
            with located(key.where):
                self._count_one()
                text = str(key.value)
                match = _SEGMENT.fullmatch(text)
                if match is not None:
                    before = segments[-1].stop if segments else 0
                    segments.append(self._segment(match, value, _left(axes, loops), before, depth))
                elif text == _DIMS and not depth and isinstance(value.value, list):
                    self._rename(value)
                elif segments:
                    raise UserError(
                        f"{shown(text)} follows a segment of {self.title}",
                        hints=["put it inside the segments, or before them"],
                    )
                elif loops and self._is_matrix(text, value):
                    loops[-1] = self._with_matrix(loops[-1], text)
                else:
                    loop, inside = self._loop(text, value, axes)
                    loops.append(replace(_uniquely_named(loop, loops), where=key.where))
                    vectors += [replace(vector, where=key.where) for vector in inside]
        for vector in vectors:
            loops.append(_uniquely_named(vector, loops))
        return Nest(Space(axes), tuple(loops), tuple(segments))

    def _count_one(self) -> None:
        self._count += 1
        if self._count > MAX_PARTS:
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
        """An item of a list: a mapping, a loop, or a loop with annotations after `=`."""
        if isinstance(item.value, dict):
            yield from item.value.items()
        elif isinstance(item.value, str):
            key, _, annotations = item.value.partition("=")
            parts = [
                Located(annotation, item.where)
                for annotation in annotations.split(",")
                if annotation
            ]
            yield Located(key, item.where), Located(parts, item.where)
        else:
            raise UserError(
                f"{kind_of(item)} in the schedule of {self.title} is not a loop",
                where=item.where,
                hints=["write loops as text: i, i#4, i[0:48], or 'i#4=unroll'"],
            )

    def _rename(self, value: Located) -> None:
        """Set alternative names of the axes, in the operation's order."""
        given = [item.value for item in value.value]
        axes = self.space.names
        if len(given) > len(axes) or len(set(map(str, given))) < len(given):
            raise UserError(
                f"{_DIMS} of {self.title} takes {len(axes)} distinct names",
                where=value.where,
                notes=[f"its axes are {', '.join(axes)}"],
            )
        self.names = dict(zip(map(str, given), axes, strict=False))

    def _axis(self, name: str, axes: tuple[Axis, ...]) -> str:
        """The axis of this name, of this alternative name, or of the name in lower case."""
        known = {axis.name for axis in axes}
        small = name.lower()
        axis = self.names.get(name, small if name not in known and small in known else name)
        check_axis(axis, Space(axes), self.title)
        return axis

    def _is_matrix(self, text: str, value: Located) -> bool:
        """Whether a letter denotes a packed operand or the result's buffer."""
        number = ord(text) - ord("A") if len(text) == 1 else -1
        if not 0 <= number <= self.space.operands or text in (*self.names, *self.space.names):
            return False
        annotations = [
            annotation
            for annotation, argument in read_annotations(value, text)
            if argument in (None, True)
        ]
        return annotations == ["pack"] or (
            annotations == ["buffer"] and number == self.space.operands
        )

    def _with_matrix(self, loop: NestLoop, text: str) -> NestLoop:
        number = ord(text) - ord("A")
        if number == self.space.operands:
            return replace(loop, buffer=True)
        return replace(loop, pack=(*loop.pack, number))

    def _segment(
        self,
        match: re.Match[str],
        value: Located,
        axes: tuple[Axis, ...],
        before: int,
        depth: int,
    ) -> Segment:
        """A segment; by default it begins at the end of the previous one."""
        name = self._axis(match["axis"], axes)
        start = int(match["start"]) if match["start"] else before
        stop = int(match["stop"]) if match["stop"] else Space(axes).size(name)
        if match["size"]:
            stop = start + int(match["size"])
        cut = tuple(replace(a, size=stop - start) if a.name == name else a for a in axes)
        return Segment(name, start, stop, self.nest(value, cut, depth + 1), match[0])

    def _loop(
        self, text: str, value: Located, axes: tuple[Axis, ...]
    ) -> tuple[NestLoop, list[NestLoop]]:
        """A loop, and the vector loops inside it that a vector width adds."""
        match = _LOOP.fullmatch(text)
        if match is None:
            raise UserError(
                f"{shown(text)} is not a loop of {self.title}",
                hints=["write an axis (i), a tile of it (i#4), or a segment (i[0:48])"],
            )
        tile, value = _tile(match, value)
        loop = NestLoop(self._axis(match["axis"], axes), tile)
        vectors = []
        seen = set()
        for annotation, argument in read_annotations(value, loop.name):
            if annotation in seen and annotation not in _OF_OPERANDS:
                raise UserError(
                    f"'{loop.name}' of {self.title} has the annotation '{annotation}' twice"
                )
            seen.add(annotation)
            if annotation == "pack" and is_padded(argument):
                self.notes.append(f"pack at '{loop.name}' makes a dense buffer without padding")
            if annotation == "vectorize" and isinstance(argument, int) and argument is not True:
                size = loop.tile or Space(axes).size(loop.axis)
                argument, inside = _by_width(loop, argument, size)
                vectors += inside
            if argument is not False:
                loop = annotated(loop, annotation, argument)
        return loop, vectors


def _tile(match: re.Match[str], value: Located) -> tuple[int | None, Located]:
    """The size of a tile, from the key or from `size` among its annotations."""
    if match["tile"]:
        return int(match["tile"]), value
    if isinstance(value.value, dict):
        rest = {key: item for key, item in value.value.items() if key.value != _SIZE}
        sizes = [item.value for key, item in value.value.items() if key.value == _SIZE]
        if sizes and isinstance(sizes[0], int) and not isinstance(sizes[0], bool):
            return sizes[0], Located(rest, value.where)
    return None, value


def _by_width(loop: NestLoop, width: int, size: int) -> tuple[bool, list[NestLoop]]:
    """Whether the loop itself becomes vectors of this width; otherwise loops to add inside it."""
    if width < 1:
        raise UserError(f"'{loop.name}' cannot be vectorized by {shown(width)} elements")
    if width >= size:
        return True, []
    return False, [NestLoop(loop.axis, width, vectorize=True)]


def _left(axes: tuple[Axis, ...], loops: list[NestLoop]) -> tuple[Axis, ...]:
    """The axes with the sizes that tiles leave."""
    tiles = {loop.axis: loop.tile for loop in loops if loop.tile is not None}
    return tuple(replace(axis, size=tiles.get(axis.name, axis.size)) for axis in axes)


def _uniquely_named(loop: NestLoop, others: list[NestLoop]) -> NestLoop:
    """The loop under a name that differs from those of tiles of the same size."""
    same = [other for other in others if (other.axis, other.tile) == (loop.axis, loop.tile)]
    if not same or loop.tile is None:
        return loop
    return replace(loop, name=f"{loop.name}.{len(same) + 1}")
