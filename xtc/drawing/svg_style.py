# SPDX-License-Identifier: Apache-2.0
"""The style sheet of SVG drawings: fonts that every system has, colors for light and dark.

Every rule is limited to the drawing, because a page that embeds it has other styles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xtc.drawing.palette import device_colors
from xtc.drawing.svg_parts import SIZES

SCOPE = "xtc-graph"
HOST_CLASS = "hosted"
_SANS = (
    "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif"
)

Rule = tuple[str, str]

_RULES: tuple[Rule, ...] = (
    ("text", f"font-family:{_SANS};fill:#1d2430"),
    (".title", f"font-size:{SIZES['title']:g}px;font-weight:600"),
    (".heading", f"font-size:{SIZES['heading']:g}px;font-weight:600;text-anchor:middle"),
    (".detail", f"font-size:{SIZES['detail']:g}px;text-anchor:middle;fill:#5b6575"),
    (".label", f"font-size:{SIZES['label']:g}px;fill:#5b6575"),
    (".card", "fill:#fafbfc;stroke:#e1e5eb"),
    (".box", "stroke-width:1.2"),
    (".inner", "fill:none;stroke-width:1"),
    (".edge", "fill:none;stroke:#8791a0;stroke-width:1.4"),
    (".light", "stroke:#b9c1cc;stroke-width:1.1"),
    (".tip", "fill:#8791a0"),
    (".lighttip", "fill:#b9c1cc"),
)

_DARK_RULES: tuple[Rule, ...] = (
    ("text", "fill:#e8ecf2"),
    (".detail", "fill:#a5afbd"),
    (".label", "fill:#a5afbd"),
    (".card", "fill:#171b22;stroke:#2c333e"),
    (".edge", "stroke:#7c8797"),
    (".light", "stroke:#556070"),
    (".tip", "fill:#7c8797"),
    (".lighttip", "fill:#556070"),
)


def device_class(number: int) -> str:
    """The style class of the device at `number` in the list of devices."""
    return f"device{number}"


def style_sheet(devices: Sequence[str]) -> str:
    """CSS for the classes of a drawing with these devices."""
    light = [*_RULES, *_device_rules(devices, dark=False)]
    dark = [*_DARK_RULES, *_device_rules(devices, dark=True)]
    return f"\n{_text(light)}@media (prefers-color-scheme:dark){{\n{_text(dark)}}}\n"


def _device_rules(devices: Sequence[str], *, dark: bool) -> Iterator[Rule]:
    for number, colors in enumerate(device_colors(devices).values()):
        name = f".{device_class(number - 1)}" if number else f".{HOST_CLASS}"
        fill = colors.dark_fill if dark else colors.fill
        line = colors.dark_line if dark else colors.line
        yield f"{name} .box", f"fill:{fill};stroke:{line}"
        yield f"{name} .inner", f"stroke:{line}"


def _text(rules: Sequence[Rule]) -> str:
    return "".join(f".{SCOPE} {selector}{{{style}}}\n" for selector, style in rules)
