# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of scheduling primitives and converts them to plain types."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import SupportsIndex

from xtc.core.errors import UserError, shown

MAX_MAGNITUDE = 1 << 62
"""Above every real size, and within compilers' integer types."""
MAX_COUNT = 1024


def integer(value: object, what: str) -> int:
    """`value` as an int. Raises UserError if it is not integral, or absurdly large."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise UserError(f"{what} is {shown(value)}, not an integer")
    number = operator.index(value)
    if abs(number) > MAX_MAGNITUDE:
        raise UserError(f"{what} is {shown(number)}, which is out of range")
    return number


def integers(
    value: object, primitive: str, what: str, words: Mapping[bool, int] | None = None
) -> dict[str, int]:
    """A mapping from names to integers; `words` has the integers for True and False.

    Raises UserError for other values.
    """
    if not isinstance(value, Mapping):
        raise UserError(f"{primitive} takes {what}, not {shown(value)}")
    _check_count(len(value), primitive)
    return {
        text(name): words[item]
        if words and isinstance(item, bool)
        else integer(item, f"{primitive}: the number of {shown(name)}")
        for name, item in value.items()
    }


def texts(value: object, primitive: str, what: str) -> tuple[str, ...]:
    """A list of names. Raises UserError for other values."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise UserError(f"{primitive} takes a list of {what}, not {shown(value)}")
    found = []
    for item in value:
        found.append(text(item))
        _check_count(len(found), primitive)
    return tuple(found)


def files(value: object, primitive: str) -> tuple[str, ...]:
    """Paths of existing files, one or several. Raises UserError for other values."""
    given = [value] if isinstance(value, str | Path) else value
    if isinstance(given, bytes | Mapping) or not isinstance(given, Iterable):
        raise UserError(f"{primitive} takes a list of files, not {shown(value)}")
    paths = []
    for item in given:
        if not isinstance(item, str | Path):
            raise UserError(f"{primitive} takes paths of files, not {shown(item)}")
        path = Path(item).absolute()
        if not path.is_file():
            raise UserError(f"{primitive}: there is no file {item}")
        paths.append(str(path))
        _check_count(len(paths), primitive)
    return tuple(paths)


def text(value: object) -> str:
    """A name. Raises UserError for other values."""
    if not isinstance(value, str):
        raise UserError(f"{shown(value)} is not a name")
    return value


def _check_count(count: int, primitive: str) -> None:
    if count > MAX_COUNT:
        raise UserError(f"{primitive} is given {count} items or more; {MAX_COUNT} at most")


def joined(numbers: tuple[int, ...], number: int) -> tuple[int, ...]:
    """The numbers with `number` appended if it is missing."""
    return numbers if number in numbers else (*numbers, number)
