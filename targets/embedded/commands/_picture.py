# SPDX-License-Identifier: Apache-2.0
"""Draws the buffers of the arena over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 320, 70, 24
_COLORS = ("#9ecae1", "#a1d99b", "#fdd0a2", "#dadaeb", "#fcbba1", "#c7e9c0")
_NAMED = 14  # least height in pixels of a buffer with a label


def picture(buffers: Sequence[Mapping[str, Any]], arena: int) -> str:
    """SVG with operators from left to right and the arena's bytes upwards, one box per buffer."""
    # Only calls at which a lifetime begins or ends get a column, because most calls change nothing.
    times = sorted({b[key] for b in buffers for key in ("begin", "end")})
    column = {time: number for number, time in enumerate(times)}
    step = _WIDTH / max(len(times), 1)
    boxes = [
        _box(buffer, column, step, _HEIGHT / max(arena, 1), _COLORS[number % len(_COLORS)])
        for number, buffer in enumerate(buffers)
    ]
    width, height = _LEFT + _WIDTH + 10, _TOP + _HEIGHT + 30
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="11">',
            f'<rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}" fill="#f7f7f7"/>',
            f'<text x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end">{arena:,}</text>',
            f'<text x="{_LEFT - 6}" y="{_TOP + _HEIGHT}" text-anchor="end">0 bytes</text>',
            *boxes,
            f'<text x="{_LEFT}" y="{height - 10}">operators, from first to last</text>',
            "</svg>",
            "",
        ]
    )


def _box(
    buffer: Mapping[str, Any], column: Mapping[int, int], step: float, scale: float, color: str
) -> str:
    begin, end = column[buffer["begin"]], column[buffer["end"]]
    left, width = _LEFT + begin * step, (end - begin + 1) * step
    height = buffer["bytes"] * scale
    top = _TOP + _HEIGHT - (buffer["offset"] * scale + height)
    label = escape(f"{buffer['name']}, {buffer['bytes']:,} bytes")
    box = (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{max(height, 1):.1f}" '
        f'fill="{color}" stroke="#555" stroke-width="0.5"><title>{label}</title></rect>'
    )
    if height < _NAMED:
        return box
    name = escape(str(buffer["name"]))
    return f'{box}<text x="{left + 3:.1f}" y="{top + 12:.1f}">{name}</text>'
