# SPDX-License-Identifier: Apache-2.0
"""The elements of an SVG drawing, and the size of text."""

from __future__ import annotations

import html
import re
from typing import Literal

Font = Literal["heading", "detail", "label", "title"]

# Pixels. Headings and titles are semi-bold.
SIZES: dict[Font, float] = {"heading": 13.0, "detail": 10.5, "label": 10.0, "title": 16.0}
_NARROW = frozenset("iljtfrI.,:;|!'()[]{} /-")
_WIDE = frozenset("mwMW%@×—")
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text_width(text: str, font: Font) -> float:
    """Pixels that `text` takes in the widest of the usual sans-serif fonts, estimated."""
    bold = 1.07 if font in ("heading", "title") else 1.0
    return sum(map(_em, text)) * SIZES[font] * bold


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.36
    if character in _WIDE:
        return 0.88
    return 0.68 if character.isupper() or not character.isascii() else 0.6


def escaped(text: str) -> str:
    """`text` as XML character data; characters that XML forbids become U+FFFD."""
    return html.escape(storable(text))


def storable(text: str) -> str:
    """`text` with U+FFFD for characters that XML forbids."""
    return _NOT_XML.sub("\ufffd", text)


def number(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def text_at(text: str, kind: str, x: float, y: float) -> str:
    """Text of class `kind` on the baseline `y`."""
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}">{escaped(text)}</text>'


def rectangle(kind: str, x: float, y: float, width: float, height: float, radius: float) -> str:
    """A rectangle with rounded corners."""
    return (
        f'<rect class="{kind}" x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(height)}" rx="{number(radius)}"/>'
    )


def marker(name: str, kind: str) -> str:
    """The tip of an arrow."""
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6.5" '
        f'markerHeight="6.5" orient="auto"><path class="{kind}" d="M0.5 0.8 7.5 4 0.5 7.2z"/>'
        "</marker>"
    )
