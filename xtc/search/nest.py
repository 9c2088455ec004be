# SPDX-License-Identifier: Apache-2.0
"""Nests of strategies: items as of the data form of schedules, with parameters for numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xtc.core.errors import UserError, shown
from xtc.loops.yaml_text import Located

_ITEM = re.compile(r"(?P<axis>[^#=\s]+)(?:#(?P<size>\w+))?(?:=(?P<words>\S+))?")
_UNROLL = "unroll"
_BUFFERS = ("pack", "buffer", "fuse")


@dataclass(frozen=True)
class Item:
    """One loop of a nest: its axis, its tile size (a number, a parameter, or none), its words."""

    axis: str
    size: str | None
    words: tuple[str, ...]

    @property
    def parameters(self) -> set[str]:
        """Names in it that stand for numbers."""
        factors = (word.partition(":")[2] for word in self.words if _is_unroll(word))
        return {text for text in (self.size or "", *factors) if text and not text.isdecimal()}

    @property
    def text(self) -> str:
        """The item in the data form of schedules."""
        loop = self.axis if self.size is None else f"{self.axis}#{self.size}"
        return f"{loop}={','.join(self.words)}" if self.words else loop


def read_item(data: Located) -> Item:
    """The item that `data` describes. Raises UserError."""
    match = _ITEM.fullmatch(data.value) if isinstance(data.value, str) else None
    if match is None:
        raise UserError(
            f"{shown(data.value)} is no loop of a nest",
            where=data.where,
            hints=["write axis, axis#size, or either with =word,word behind it"],
        )
    words = tuple(match["words"].split(",")) if match["words"] else ()
    return Item(match["axis"], match["size"], words)


def nest_items(
    items: Sequence[Item], values: Mapping[str, int], sizes: Mapping[str, int]
) -> list[str]:
    """A nest with numbers for parameters, as `xtc.Schedule.of` takes it.

    A tile that covers the loop around it takes that loop's place: the outer one would run once.
    What is buffered there is then buffered in the next loop further out; if there is none, an
    operand is one block altogether, and is not copied. What would be unrolled by one is not
    unrolled.
    """
    return [item.text for item in _merged([_with_numbers(item, values) for item in items], sizes)]


def _merged(items: Sequence[Item], sizes: Mapping[str, int]) -> list[Item]:
    kept: list[Item] = []
    for item in items:
        around = next((i for i in reversed(range(len(kept))) if kept[i].axis == item.axis), None)
        if around is None or item.size is None or int(item.size) != _extent(kept[around], sizes):
            kept.append(item)
            continue
        outer = kept[around]
        buffers = tuple(word for word in outer.words if word.partition(":")[0] in _BUFFERS)
        if buffers and around > 0:
            further = kept[around - 1]
            kept[around - 1] = replace(further, words=(*further.words, *buffers))
        kept[around : around + 1] = []
        kept.append(replace(item, size=outer.size))
    return kept


def _extent(item: Item, sizes: Mapping[str, int]) -> int:
    return sizes.get(item.axis, 0) if item.size is None else int(item.size)


def _with_numbers(item: Item, values: Mapping[str, int]) -> Item:
    size = None if item.size is None else _number(item.size, values)
    words = [_word(word, values) for word in item.words]
    kept = tuple(word for word in words if word and not (size == 1 and _is_unroll(word)))
    return Item(item.axis, None if size is None else str(size), kept)


def _word(word: str, values: Mapping[str, int]) -> str:
    """A word with its number, "" for unrolling by 1."""
    name, colon, number = word.partition(":")
    if name != _UNROLL or not colon:
        return word
    factor = _number(number, values)
    return f"{name}:{factor}" if factor > 1 else ""


def _number(text: str, values: Mapping[str, int]) -> int:
    return int(text) if text.isdecimal() else values[text]


def _is_unroll(word: str) -> bool:
    return word.partition(":")[0] == _UNROLL
