# SPDX-License-Identifier: Apache-2.0
"""Draws pictures with matplotlib, deterministically, for light and dark backgrounds."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

from xtc.core.errors import UserError
from xtc.search.plots.picture import CARD, DARK, GRID, INK, MUTED, Picture

SCOPE = "xtc-plot"
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_REFERENCE = re.compile(r"(^|url\()#")
_DOTS_PER_INCH = 144
_STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GRID,
    "axes.facecolor": CARD,
    "axes.grid": True,
    "axes.labelcolor": MUTED,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.facecolor": CARD,
    "font.size": 9,
    "grid.color": GRID,
    "legend.facecolor": CARD,
    "legend.edgecolor": GRID,
    "legend.fontsize": 8,
    "legend.labelcolor": INK,
    "savefig.facecolor": CARD,
    "svg.fonttype": "none",  # text stays text
    "text.color": INK,
    "text.parse_math": False,  # a $ in a name is a $
    "xtick.color": MUTED,
    "ytick.color": MUTED,
}


def svg_text(picture: Picture) -> str:
    """A complete SVG document."""
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg_element(picture)}\n'


def svg_element(picture: Picture) -> str:
    """The element to embed in an HTML page, with unique ids and styles."""
    drawn = _saved(picture, "svg", {"Creator": None, "Date": None, "Format": None, "Type": None})
    root = ElementTree.fromstring(drawn)  # noqa: S314  matplotlib wrote it
    for data in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(data)
    for element in root.iter():
        _make_unique(element, picture.name)
    root.set("class", SCOPE)
    root.set("role", "img")
    style = ElementTree.Element(f"{{{_SVG}}}style")
    style.text = _style_sheet()
    title = ElementTree.Element(f"{{{_SVG}}}title")
    title.text = f"{picture.title}. {picture.caption}"
    root[:0] = [title, style]
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    return ElementTree.tostring(root, encoding="unicode")


def png_bytes(picture: Picture) -> bytes:
    """A PNG file, on a light background."""
    return _saved(picture, "png", {"Software": None})


def _make_unique(element: ElementTree.Element, name: str) -> None:
    """Make ids and references unique, and limit the styles to this picture."""
    for key, value in element.attrib.items():
        if key == "id":
            element.set(key, f"{name}-{value}")
        else:
            element.set(key, _REFERENCE.sub(rf"\g<1>#{name}-", value))
    if element.tag == f"{{{_SVG}}}style":
        element.text = f".{SCOPE} {element.text}"


def _style_sheet() -> str:
    """Colors for readers with a dark system theme."""
    rules = [
        f".{SCOPE} [style*='{part}: {light}']{{{part}:{dark}!important}}\n"
        for light, dark in DARK.items()
        for part in ("fill", "stroke")
    ]
    return f"\n@media (prefers-color-scheme:dark){{\n{''.join(rules)}}}\n"


def _saved(picture: Picture, form: str, metadata: dict[str, None]) -> bytes:
    with _matplotlib():
        from matplotlib.figure import Figure

        size = (picture.width, picture.height)
        figure = Figure(figsize=size, dpi=_DOTS_PER_INCH, layout="constrained")
        figure.suptitle(picture.title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        panels = figure.subplots(1, len(picture.panels), squeeze=False)[0]
        for axes, draw in zip(panels, picture.panels, strict=True):
            draw(axes)
        written = io.BytesIO()
        figure.savefig(written, format=form, metadata=metadata)
    return written.getvalue()


@contextmanager
def _matplotlib() -> Iterator[None]:
    """Matplotlib's defaults and our style, regardless of the user's settings. Raises UserError."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise UserError("plots need matplotlib", hints=["pip install matplotlib"]) from None
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update({**_STYLE, "svg.hashsalt": SCOPE})
        yield
