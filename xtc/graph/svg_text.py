# SPDX-License-Identifier: Apache-2.0
"""Text in SVG: how wide it will be, and how to write any text as well-formed XML."""

from __future__ import annotations

import html
import re
from typing import Literal

Font = Literal["heading", "detail", "label", "title"]

# Pixels. Headings and titles are semi-bold, details are monospaced.
SIZES: dict[Font, float] = {"heading": 13.0, "detail": 10.5, "label": 10.0, "title": 16.0}
_MONOSPACED = 0.602
_NARROW = frozenset("iljtfrI.,:;|!'()[]{} /-")
_WIDE = frozenset("mwMW%@×—")
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text_width(text: str, font: Font) -> float:
    """Pixels that `text` takes in the widest of the usual sans-serif fonts, estimated."""
    if font == "detail":
        return len(text) * SIZES[font] * _MONOSPACED
    bold = 1.07 if font in ("heading", "title") else 1.0
    return sum(map(_em, text)) * SIZES[font] * bold


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.36
    if character in _WIDE:
        return 0.88
    return 0.68 if character.isupper() or not character.isascii() else 0.6


def escaped(text: str) -> str:
    """`text` as character data of XML; what XML cannot hold becomes U+FFFD."""
    return html.escape(_NOT_XML.sub("\ufffd", text))


def number(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")
