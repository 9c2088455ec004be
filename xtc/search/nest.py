# SPDX-License-Identifier: Apache-2.0
"""Nests of strategies: items in the data form of schedules, with parameters for numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xtc.core.errors import UserError, shown
from xtc.loops.yaml_text import Located

_ITEM = re.compile(r"(?P<axis>[^#=\s]+)(?:#(?P<size>\w+))?(?:=(?P<annotations>\S+))?")
_UNROLL = "unroll"
_BUFFERS = ("pack", "buffer", "fuse")


@dataclass(frozen=True)
class Item:
    """A loop of a nest: its axis, tile size (a number, a parameter, or none) and annotations."""

    axis: str
    size: str | None
    annotations: tuple[str, ...]

    @property
    def parameters(self) -> set[str]:
        """The names of its parameters."""
        factors = (text.partition(":")[2] for text in self.annotations if _is_unroll(text))
        return {text for text in (self.size or "", *factors) if text and not text.isdecimal()}

    @property
    def text(self) -> str:
        """The item in the data form of schedules."""
        loop = self.axis if self.size is None else f"{self.axis}#{self.size}"
        return f"{loop}={','.join(self.annotations)}" if self.annotations else loop


def read_item(data: Located) -> Item:
    """The item that `data` describes. Raises UserError."""
    match = _ITEM.fullmatch(data.value) if isinstance(data.value, str) else None
    if match is None:
        raise UserError(
            f"{shown(data.value)} is not a loop of a nest",
            where=data.where,
            hints=["write axis, axis#size, or either followed by =annotation,annotation"],
        )
    annotations = tuple(match["annotations"].split(",")) if match["annotations"] else ()
    return Item(match["axis"], match["size"], annotations)


def nest_items(
    items: Sequence[Item], values: Mapping[str, int], sizes: Mapping[str, int]
) -> list[str]:
    """A nest with numbers for parameters, for `xtc.Schedule.of`.

    A tile that covers its parent loop replaces it, because the parent would run once. Buffers there
    move to the next outer loop; if there is none, an operand is a single block and is not copied.
    Unrolling by one is dropped.
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
        buffers = tuple(text for text in outer.annotations if text.partition(":")[0] in _BUFFERS)
        if buffers and around > 0:
            further = kept[around - 1]
            kept[around - 1] = replace(further, annotations=(*further.annotations, *buffers))
        kept[around : around + 1] = []
        kept.append(replace(item, size=outer.size))
    return kept


def _extent(item: Item, sizes: Mapping[str, int]) -> int:
    return sizes.get(item.axis, 0) if item.size is None else int(item.size)


def _with_numbers(item: Item, values: Mapping[str, int]) -> Item:
    size = None if item.size is None else _number(item.size, values)
    annotations = [_annotation(text, values) for text in item.annotations]
    kept = tuple(text for text in annotations if text and not (size == 1 and _is_unroll(text)))
    return Item(item.axis, None if size is None else str(size), kept)


def _annotation(text: str, values: Mapping[str, int]) -> str:
    """An annotation with its number, "" for unrolling by 1."""
    name, colon, number = text.partition(":")
    if name != _UNROLL or not colon:
        return text
    factor = _number(number, values)
    return f"{name}:{factor}" if factor > 1 else ""


def _number(text: str, values: Mapping[str, int]) -> int:
    return int(text) if text.isdecimal() else values[text]


def _is_unroll(text: str) -> bool:
    return text.partition(":")[0] == _UNROLL
