# SPDX-License-Identifier: Apache-2.0
"""The points of a CSV file, in its order: a column for each parameter, a row for each point."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.core.location import SourceLocation
from xtc.search.samplers.base import Sampler
from xtc.search.space import Point, SearchSpace

SUFFIX = ".csv"
_MAX_ROWS = 1 << 20


class ListedSampler(Sampler):
    """Points from a CSV file, such as the output of `xtc-tune --csv`; ignores the seed.

    Columns that are not parameters are ignored, and so are rows without a point, such as the
    default schedule's.
    """

    name: ClassVar[str] = f"FILE{SUFFIX}"

    def __init__(self, space: SearchSpace, path: Path) -> None:
        super().__init__(space, 0)
        self._points = iter(_points(space, path))

    def _choose(self) -> Point | None:
        return next((point for point in self._points if self._is_new(point)), None)


def _points(space: SearchSpace, path: Path) -> list[Point]:
    """The points of the file. Raises UserError for a file without points or with invalid ones."""
    try:
        with path.open(newline="") as file:
            rows = list(_rows(csv.DictReader(file), str(path)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"cannot read {path}: {error}") from None
    found = [point for where, row in rows if (point := _point(space, row, where)) is not None]
    if not found:
        raise UserError(
            f"{path} has no points of this strategy",
            notes=[f"its parameters are {', '.join(space.names)}"],
        )
    return found


def _rows(
    reader: csv.DictReader[str], path: str
) -> Iterator[tuple[SourceLocation, Mapping[str, str | None]]]:
    for number, row in enumerate(reader):
        if number > _MAX_ROWS:
            raise UserError(f"{path} has more than {_MAX_ROWS} rows")
        yield SourceLocation(path, reader.line_num), row


def _point(
    space: SearchSpace, row: Mapping[str, str | None], where: SourceLocation
) -> Point | None:
    texts = {name: (row.get(name) or "").strip() for name in space.names}
    given = {name: text for name, text in texts.items() if text}
    if not given:
        return None
    for name, text in given.items():
        if not text.isdecimal() or int(text) not in space.values[name]:
            raise UserError(
                f"'{name}' cannot be {text}",
                where=where,
                notes=[f"its values are {', '.join(map(str, space.values[name][:20]))}"],
            )
    first = {name: values[0] for name, values in space.values.items()}
    point = space.canonical({**first, **{name: int(text) for name, text in given.items()}})
    if not space.allows(point):
        raise UserError("this point violates the strategy's constraints", where=where)
    return point
