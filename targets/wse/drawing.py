# SPDX-License-Identifier: Apache-2.0
"""Draws a program's rectangle: PEs by class, and the routes of each color through routers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

_CELL = 96
_EDGE = 40  # from the center of a PE to its border
_ENDS = {0: (1, 0), 1: (-1, 0), 2: (0, -1), 3: (0, 1), 4: (0, 0)}
_RAMP = 4


def fabric_svg(about: Mapping[str, Any]) -> str:
    """The SVG of a program, from the description that `cslc` wrote."""
    width, height = about["width"] * _CELL, about["height"] * _CELL
    colors = sorted({int(color) for routes in about["routes"] for color in routes})
    body = [*_cells(about), *_routes(about, colors), *_legend(colors, height)]
    size = f'width="{width + 20}" height="{height + 40}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">',
            "<style>text { font-size: 10px } .pe { stroke: #888 }"
            " .route { fill: none; stroke-width: 2 } .switched { stroke-dasharray: 4 3 }</style>",
            *body,
            "</svg>",
            "",
        ]
    )


def _middle(x: int, y: int) -> tuple[int, int]:
    return x * _CELL + _CELL // 2 + 10, y * _CELL + _CELL // 2 + 10


def _cells(about: Mapping[str, Any]) -> Iterator[str]:
    for number, which in enumerate(about["class_of"]):
        x, y = number % about["width"], number // about["width"]
        cx, cy = _middle(x, y)
        shade = 96 - 6 * (which % 5)
        yield (
            f'<rect class="pe" x="{cx - _EDGE}" y="{cy - _EDGE}" width="{2 * _EDGE}" '
            f'height="{2 * _EDGE}" fill="hsl(210, 30%, {shade}%)"><title>PE ({x}, {y}), class '
            f"{which}</title></rect>"
        )
        yield f'<text x="{cx - _EDGE + 3}" y="{cy - _EDGE + 11}">{x},{y}</text>'


def _routes(about: Mapping[str, Any], colors: list[int]) -> Iterator[str]:
    for number, which in enumerate(about["routes_of"]):
        middle = _middle(number % about["width"], number // about["width"])
        for color, positions in about["routes"][which].items():
            shift = 6 * (colors.index(int(color)) - (len(colors) - 1) / 2)
            for position, (rx, tx) in enumerate(positions):
                kind = "route" if position == 0 else "route switched"
                for line in _lines(middle, rx, tx, shift):
                    title = f"<title>color {color}, position {position}</title>"
                    paint = f'class="{kind}" stroke="{_paint(int(color))}"'
                    yield f'<path {paint} d="{line}">{title}</path>'


def _lines(middle: tuple[int, int], rx: int, tx: int, shift: float) -> Iterator[str]:
    """Curves from each input to each output, through a point near the center."""
    cx, cy = middle[0] + shift, middle[1] + shift
    for start in range(5):
        for end in range(5):
            if rx >> start & 1 and tx >> end & 1:
                (x1, y1), (x2, y2) = (_end(middle, each, shift) for each in (start, end))
                yield f"M {x1:g} {y1:g} Q {cx:g} {cy:g} {x2:g} {y2:g}"


def _end(middle: tuple[int, int], direction: int, shift: float) -> tuple[float, float]:
    dx, dy = _ENDS[direction]
    if direction == _RAMP:
        return middle[0] + shift + 6, middle[1] + shift + 6
    reach = _CELL / 2
    return middle[0] + dx * reach + shift * abs(dy), middle[1] + dy * reach + shift * abs(dx)


def _paint(color: int) -> str:
    return f"hsl({math.floor(color * 137.5) % 360}, 70%, 45%)"


def _legend(colors: list[int], height: int) -> Iterator[str]:
    for position, color in enumerate(colors):
        x = 10 + 70 * position
        yield f'<rect x="{x}" y="{height + 18}" width="12" height="12" fill="{_paint(color)}"/>'
        yield f'<text x="{x + 16}" y="{height + 28}">color {color}</text>'
