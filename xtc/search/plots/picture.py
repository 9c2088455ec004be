# SPDX-License-Identifier: Apache-2.0
"""The description of a plot before it is drawn, and its colors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xtc.drawing.palette import DEVICE_COLORS
from xtc.drawing.svg_parts import storable
from xtc.graph.drawing import shortened

INK, MUTED, GRID, CARD = "#1d2430", "#5b6575", "#e1e5eb", "#fafbfc"
TEAL, AMBER, VIOLET, BLUE, ROSE, GREEN = (color.line for color in DEVICE_COLORS)

DARK = {
    **{color.line: color.dark_line for color in DEVICE_COLORS},
    INK: "#e8ecf2",
    MUTED: "#a5afbd",
    GRID: "#2c333e",
    CARD: "#171b22",
}
"""The replacement of each color on a dark background."""


@dataclass(frozen=True)
class Picture:
    """A plot that is ready to be drawn.

    Attributes:
        name: the kind of plot, letters only.
        title: the text above it.
        caption: a description in a sentence or two.
        panels: functions that draw the panels into matplotlib's Axes, from left to right.
        width: inches.
        height: inches.
    """

    name: str
    title: str
    caption: str
    panels: Sequence[Callable[[Any], None]]
    width: float = 9.0
    height: float = 4.0


def label(text: str) -> str:
    """Text from a database for a label: one line of at most 40 characters that XML can hold."""
    return shortened(" ".join(storable(text).split()))
