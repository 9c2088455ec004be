# SPDX-License-Identifier: Apache-2.0
"""The style sheet of SVG drawings: fonts that every system has, colours for light and dark."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.graph.palette import device_colours
from xtc.graph.svg_text import SIZES

_SANS = (
    "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif"
)
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace"

_FONTS = f"""
text{{font-family:{_SANS};fill:#1d2430}}
.title{{font-size:{SIZES["title"]:g}px;font-weight:600}}
.heading{{font-size:{SIZES["heading"]:g}px;font-weight:600;text-anchor:middle}}
.detail{{font-size:{SIZES["detail"]:g}px;font-family:{_MONO};text-anchor:middle;fill:#5b6575}}
.label{{font-size:{SIZES["label"]:g}px;fill:#5b6575}}
"""

_LIGHT = """
.card{fill:#fafbfc;stroke:#e1e5eb}
.box{stroke-width:1.2}
.inner,.fold{fill:none;stroke-width:1}
.edge{fill:none;stroke:#8791a0;stroke-width:1.4}
.light{stroke:#b9c1cc;stroke-width:1.1}
.tip{fill:#8791a0}
"""

_DARK = """
text{fill:#e8ecf2}
.detail,.label{fill:#a5afbd}
.card{fill:#171b22;stroke:#2c333e}
.edge{stroke:#7c8797}
.light{stroke:#556070}
.tip{fill:#7c8797}
"""


def style_sheet(devices: Sequence[str]) -> str:
    """CSS for the classes of a drawing; the n-th device has the class `device<n>`."""
    light, dark = [], []
    for place, colours in enumerate(device_colours(devices).values()):
        name = ".host" if place == 0 else f".device{place - 1}"
        light.append(f"{name} .box{{fill:{colours.fill};stroke:{colours.line}}}")
        light.append(f"{name} .inner,{name} .fold{{stroke:{colours.line}}}")
        dark.append(f"{name} .box{{fill:{colours.dark_fill};stroke:{colours.dark_line}}}")
        dark.append(f"{name} .inner,{name} .fold{{stroke:{colours.dark_line}}}")
    query = "@media (prefers-color-scheme:dark){" + _DARK + "\n".join(dark) + "\n}\n"
    return _FONTS + _LIGHT + "\n".join(light) + "\n" + query
