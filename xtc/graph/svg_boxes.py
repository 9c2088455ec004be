# SPDX-License-Identifier: Apache-2.0
"""Boxes of an SVG drawing: their sizes, and a shape for each kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xtc.drawing.layout import Point
from xtc.drawing.svg_parts import escaped, number, rectangle, text_at, text_width
from xtc.drawing.svg_style import HOST_CLASS, device_class
from xtc.graph.drawing import Box

PADDING = 14.0
HEADING_LINE = 18.0
DETAIL_LINE = 14.0
FOLD = 9.0


def box_width(box: Box) -> float:
    """The width that fits the widest line of text."""
    widths = [text_width(box.heading, "heading")]
    widths += [text_width(text, "detail") for text in box.details]
    return max(widths) + 2 * PADDING


def box_height(box: Box) -> float:
    """The height that fits all lines of text."""
    return HEADING_LINE + DETAIL_LINE * len(box.details) + 12.0


def draw_box(box: Box, center: Point, devices: Sequence[str]) -> Iterator[str]:
    """The shape of the box's kind, its texts, and a tooltip."""
    x, y = center
    color = HOST_CLASS if box.device is None else device_class(devices.index(box.device))
    top = y - box_height(box) / 2
    yield f'<g class="{box.kind} {color}"><title>{escaped(box.tooltip)}</title>'
    yield from _outline(box, x - box_width(box) / 2, top, box_width(box), box_height(box))
    yield text_at(box.heading, "heading", x, top + 6 + 13)
    for line, text in enumerate(box.details):
        yield text_at(text, "detail", x, top + 6 + HEADING_LINE + DETAIL_LINE * line + 10.5)
    yield "</g>"


def _outline(box: Box, x: float, y: float, width: float, height: float) -> Iterator[str]:
    if box.kind == "constant":
        right, bottom = number(x + width), number(y + height)
        start, fold = f"{number(x)} {number(y)}", f"{number(x + width - FOLD)} {number(y)}"
        yield (
            f'<path class="box" d="M{start}H{number(x + width - FOLD)}'
            f'L{right} {number(y + FOLD)}V{bottom}H{number(x)}z"/>'
        )
        yield f'<path class="inner" d="M{fold}v{number(FOLD)}h{number(FOLD)}"/>'
        return
    radius = 8.0 if box.kind == "operator" else height / 2
    yield rectangle("box", x, y, width, height, radius)
    if box.kind == "output":
        yield rectangle("inner", x + 3, y + 3, width - 6, height - 6, radius - 3)
