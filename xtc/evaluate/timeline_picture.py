# SPDX-License-Identifier: Apache-2.0
"""A timeline as a picture: a row for each thread and each device, a bar for each kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from xtc.drawing.svg_parts import escaped, number, rectangle, text_at, text_width
from xtc.drawing.svg_style import HOST_CLASS, SCOPE, device_class, style_sheet
from xtc.evaluate.units import seconds_text

if TYPE_CHECKING:
    from xtc.evaluate.profile import Profile, Span

_WIDTH, _ROW, _BAR = 900.0, 34.0, 24.0
_MARGIN, _HEAD, _FOOT = 16.0, 46.0, 30.0
_TICKS = 5


def timeline_picture(profile: Profile) -> str:
    """SVG of one call, from its first kernel to its end; bars are labeled if the name fits."""
    spans = [span for span in profile.spans if span.end > span.begin]
    rows = list(dict.fromkeys(span.row for span in spans))
    modelled = {device.name for device in profile.devices if device.is_modelled}
    titles = [f"{row}, modelled" if row in modelled else row for row in rows]
    left = _MARGIN + max((text_width(title, "label") for title in titles), default=0.0) + 10
    total = max((span.end for span in spans), default=1)
    height = _HEAD + len(rows) * _ROW + _FOOT
    names = list(dict.fromkeys(span.name for span in spans))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{SCOPE}" '
        f'viewBox="0 0 {number(left + _WIDTH + _MARGIN)} {number(height)}">',
        f"<style>{style_sheet(names)}</style>",
        text_at(
            f"One call of {profile.program}: {seconds_text(total / 1e9)}", "title", _MARGIN, 26
        ),
        *_axis(left, total, height),
        *(
            text_at(title, "label", _MARGIN, _HEAD + place * _ROW + _BAR / 2 + 4)
            for place, title in enumerate(titles)
        ),
        *(_bar(span, rows.index(span.row), left, total, names) for span in spans),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _axis(left: float, total: int, height: float) -> Iterator[str]:
    """The time axis: vertical lines with labels below."""
    for tick in range(_TICKS + 1):
        x = left + _WIDTH * tick / _TICKS
        yield (
            f'<path class="light" fill="none" d="M{number(x)} {number(_HEAD - 6)}'
            f'V{number(height - _FOOT)}"/>'
        )
        text = seconds_text(total * tick / _TICKS / 1e9) if tick else "0"
        yield text_at(text, "label", min(x, left + _WIDTH - 30), height - _FOOT + 16)


def _bar(span: Span, row: int, left: float, total: int, names: Sequence[str]) -> str:
    x, width = left + _WIDTH * span.begin / total, _WIDTH * (span.end - span.begin) / total
    y = _HEAD + row * _ROW
    length = seconds_text((span.end - span.begin) / 1e9)
    kind = device_class(names.index(span.name)) if span.kernel else HOST_CLASS
    parts = [
        f'<g class="{kind}"><title>{escaped(f"{span.name}, {length}")}</title>',
        rectangle("box", x, y, max(width, 0.5), _BAR, 2),
    ]
    if text_width(span.name, "label") + 8 < width:
        parts.append(text_at(span.name, "label", x + 4, y + _BAR / 2 + 4))
    return "".join([*parts, "</g>"])
