# SPDX-License-Identifier: Apache-2.0
"""Checks the routes of a program before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema.declarations import ColorConfig
from xtc_targets.wse.sema.evaluate import DIRECTIONS

_NAMES = {number: name for name, number in DIRECTIONS.items()}
_STEPS = {0: (1, 0), 1: (-1, 0), 2: (0, -1), 3: (0, 1)}
_OPPOSITE = {0: 1, 1: 0, 2: 3, 3: 2}
_RAMP = DIRECTIONS["RAMP"]

Link = tuple[int, int, int]
"""The x and y of a PE, and the direction in which a wavelet leaves it."""


def check_cycles(
    size: tuple[int, int], routes_of: Sequence[int], routes: Sequence[Mapping[int, ColorConfig]]
) -> None:
    """Raise CslError if wavelets of a color would circulate forever.

    Colors with switches or swaps are not checked.
    """
    for color in sorted({color for each in routes for color in each}):
        configs = [each.get(color) for each in routes]
        if all(each is None or _goes_nowhere(each) for each in configs):
            continue
        grid = [configs[number] for number in routes_of]
        if circle := _cycle(size, grid):
            hops = ", ".join(f"{_NAMES[d].title()} of PE ({x}, {y})" for x, y, d in circle[:4])
            raise CslError(
                f"the routes of color {color} form a cycle: {hops}"
                + (", ..." if len(circle) > 4 else "")
            )


def _goes_nowhere(config: ColorConfig) -> bool:
    return not any(tx & ~(1 << _RAMP) for _, tx in config.positions)


def _cycle(size: tuple[int, int], grid: Sequence[ColorConfig | None]) -> list[Link]:
    """The links of a cycle, in order; empty if there is none."""
    width, height = size
    finished: set[Link] = set()
    for number, config in enumerate(grid):
        for direction in _leaving(config, None):
            start = (number % width, number // width, direction)
            if found := _walk(start, width, height, grid, finished):
                return found
    return []


def _walk(
    start: Link,
    width: int,
    height: int,
    grid: Sequence[ColorConfig | None],
    finished: set[Link],
) -> list[Link]:
    path: dict[Link, Iterator[Link]] = {}
    todo: list[Link] = [start]
    while todo:
        link = todo[-1]
        if link in finished:
            todo.pop()
            continue
        if link not in path:
            path[link] = _following(link, width, height, grid)
        following = next(path[link], None)
        if following is None:
            finished.add(link)
            del path[link]
            todo.pop()
        elif following in path:
            links = list(path)
            return links[links.index(following) :]
        elif following not in finished:
            todo.append(following)
    return []


def _following(
    link: Link, width: int, height: int, grid: Sequence[ColorConfig | None]
) -> Iterator[Link]:
    x, y, direction = link
    dx, dy = _STEPS[direction]
    x, y = x + dx, y + dy
    if 0 <= x < width and 0 <= y < height:
        for onward in _leaving(grid[y * width + x], _OPPOSITE[direction]):
            yield x, y, onward


def _leaving(config: ColorConfig | None, coming: int | None) -> Iterator[int]:
    """The outgoing directions of wavelets from a direction, or from any direction, at a router."""
    if config is None or len(config.positions) > 1 or config.teardown or config.swap:
        return
    rx, tx = config.positions[0]
    if coming is None or rx >> coming & 1:
        yield from (direction for direction in _STEPS if tx >> direction & 1)
