# SPDX-License-Identifier: Apache-2.0
"""Colors of drawings: a hue for each device, on light and dark backgrounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Colors:
    """Fill and outline of a box, for a light and a dark background."""

    fill: str
    line: str
    dark_fill: str
    dark_line: str


HOST_COLORS = Colors("#ffffff", "#aeb7c4", "#242b36", "#596475")

# Teal, amber, violet, blue, rose, green: neighbors in the list are easy to distinguish, also for
# color-blind readers.
DEVICE_COLORS = (
    Colors("#dcf3f0", "#2a9187", "#143734", "#3faea3"),
    Colors("#fdefd2", "#c28519", "#3d2f12", "#d39a34"),
    Colors("#ebe5fb", "#7a5fc9", "#2c2547", "#9a83de"),
    Colors("#dfebfc", "#3c78c8", "#1a2e4c", "#6398df"),
    Colors("#fbe3ea", "#c04f74", "#43202d", "#d97797"),
    Colors("#e6f2d8", "#6a9434", "#29381a", "#8cb557"),
)


def device_colors(names: Sequence[str]) -> Mapping[str | None, Colors]:
    """The colors of each device in order of appearance, repeating after six; None is the host."""
    chosen: dict[str | None, Colors] = {None: HOST_COLORS}
    for number, name in enumerate(names):
        chosen[name] = DEVICE_COLORS[number % len(DEVICE_COLORS)]
    return chosen
