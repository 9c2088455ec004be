# SPDX-License-Identifier: Apache-2.0
"""Colours of drawings: a hue for each device, on light and dark backgrounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Colours:
    """Fill and outline of a box, for a light and a dark background."""

    fill: str
    line: str
    dark_fill: str
    dark_line: str


HOST_COLOURS = Colours("#ffffff", "#aeb7c4", "#242b36", "#596475")

# Teal, amber, violet, blue, rose, green: neighbours in the list are easy to distinguish, also for
# colour-blind readers.
DEVICE_COLOURS = (
    Colours("#dcf3f0", "#2a9187", "#143734", "#3faea3"),
    Colours("#fdefd2", "#c28519", "#3d2f12", "#d39a34"),
    Colours("#ebe5fb", "#7a5fc9", "#2c2547", "#9a83de"),
    Colours("#dfebfc", "#3c78c8", "#1a2e4c", "#6398df"),
    Colours("#fbe3ea", "#c04f74", "#43202d", "#d97797"),
    Colours("#e6f2d8", "#6a9434", "#29381a", "#8cb557"),
)


def device_colours(names: Sequence[str]) -> Mapping[str | None, Colours]:
    """The colours of each device in order of appearance, repeating after six; None is the host."""
    chosen: dict[str | None, Colours] = {None: HOST_COLOURS}
    for number, name in enumerate(names):
        chosen[name] = DEVICE_COLOURS[number % len(DEVICE_COLOURS)]
    return chosen
