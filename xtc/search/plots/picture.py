# SPDX-License-Identifier: Apache-2.0
"""What a plot is before it is drawn, and the colours that it is drawn in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xtc.drawing.palette import DEVICE_COLOURS
from xtc.drawing.svg_parts import storable
from xtc.graph.drawing import shortened

INK, MUTED, GRID, CARD = "#1d2430", "#5b6575", "#e1e5eb", "#fafbfc"
TEAL, AMBER, VIOLET, BLUE, ROSE, GREEN = (colour.line for colour in DEVICE_COLOURS)

DARK = {
    **{colour.line: colour.dark_line for colour in DEVICE_COLOURS},
    INK: "#e8ecf2",
    MUTED: "#a5afbd",
    GRID: "#2c333e",
    CARD: "#171b22",
}
"""The colour that stands on a dark background in the place of each."""


@dataclass(frozen=True)
class Picture:
    """A plot that is ready to be drawn.

    Attributes:
        name: of the kind of plot: letters only.
        title: stands above it.
        caption: what there is to see, in a sentence or two.
        panels: what draws each panel into matplotlib's Axes, from left to right.
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
