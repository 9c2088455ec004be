# SPDX-License-Identifier: Apache-2.0
"""A graph as an SVG drawing: operators from top to bottom, the types on edges, and devices.

The background is light or dark, following the reader's system.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtc.drawing.layers import Vertex
from xtc.drawing.layout import Layout, Point, lay_out
from xtc.drawing.svg_parts import escaped, marker, number, rectangle, text_at, text_width
from xtc.drawing.svg_style import HOST_CLASS, SCOPE, device_class, style_sheet
from xtc.graph.drawing import HOST, Drawing, drawing_of
from xtc.graph.svg_boxes import box_height, box_width, draw_box

if TYPE_CHECKING:
    from xtc.graph.graph import Graph

MARGIN = 24.0
LABEL_GAP = 7.0
TITLE_HEIGHT = 46.0
LEGEND_HEIGHT = 30.0
SWATCH = 11.0


@dataclass(frozen=True)
class _Page:
    """The position of the graph on the page."""

    drawing: Drawing
    layout: Layout
    left: float
    top: float
    width: float
    height: float


def svg_text(graph: Graph) -> str:
    """A complete SVG document."""
    drawing = drawing_of(graph)
    layout = _layout(drawing)
    title, summary = graph.name, _summary(graph)
    legend = _legend_entries(drawing)
    header = TITLE_HEIGHT + (LEGEND_HEIGHT if legend else 0)
    needed = [layout.width, text_width(title, "title"), text_width(summary, "label")]
    inner = max([*needed, sum(width for _, _, width in legend)])
    page = _Page(
        drawing,
        layout,
        MARGIN + (inner - layout.width) / 2,
        MARGIN + header,
        inner + 2 * MARGIN,
        layout.height + header + 2 * MARGIN,
    )
    return "\n".join([*_document(page, title, summary, legend), "</svg>"]) + "\n"


def _document(
    page: _Page, title: str, summary: str, legend: Sequence[tuple[str, str, float]]
) -> Iterator[str]:
    width, height = number(page.width), number(page.height)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{SCOPE}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" role="img" '
        'aria-labelledby="title summary">'
    )
    yield f'<title id="title">{escaped(title)}</title>'
    yield f'<desc id="summary">{escaped(summary)}</desc>'
    yield f"<style>{style_sheet(page.drawing.devices)}</style>"
    yield f"<defs>{marker('arrow', 'tip')}{marker('lightarrow', 'lighttip')}</defs>"
    yield (
        f'<rect class="card" x="0.5" y="0.5" width="{number(page.width - 1)}" '
        f'height="{number(page.height - 1)}" rx="12"/>'
    )
    yield text_at(title, "title", MARGIN, MARGIN + 14)
    yield text_at(summary, "label", MARGIN, MARGIN + 31)
    yield from _legend(legend)
    yield f'<g transform="translate({number(page.left)} {number(page.top)})">'
    yield from _edges(page)
    yield from _labels(page)
    for box, center in zip(page.drawing.boxes, page.layout.centers, strict=True):
        yield from draw_box(box, center, page.drawing.devices)
    yield "</g>"


def _summary(graph: Graph) -> str:
    stored = sum(tensor.type.nbytes for tensor in graph.constants)
    parts = [
        _count(len(graph.nodes), "operator"),
        _count(len(graph.inputs), "input"),
        _count(len(graph.outputs), "output"),
        f"{_count(len(graph.constants), 'constant')} ({_bytes(stored)})" if stored else "",
    ]
    return " · ".join(filter(None, parts))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return _count(count, "byte")


def _layout(drawing: Drawing) -> Layout:
    labels = _labels_by_source(drawing)
    vertices = [
        Vertex(
            width=box_width(box),
            height=box_height(box),
            right=LABEL_GAP + text_width(labels[box_number], "label")
            if box_number in labels
            else 0.0,
            light=box.kind == "constant",
        )
        for box_number, box in enumerate(drawing.boxes)
    ]
    return lay_out(vertices, [(vertices[e.source], vertices[e.target]) for e in drawing.lines])


def _labels_by_source(drawing: Drawing) -> dict[int, str]:
    """One label for all edges that leave a box; the box of a constant contains its type."""
    return {
        line.source: line.label
        for line in drawing.lines
        if drawing.boxes[line.source].kind != "constant"
    }


def _edges(page: _Page) -> Iterator[str]:
    for line, points in zip(page.drawing.lines, page.layout.edges, strict=True):
        light = page.drawing.boxes[line.source].kind == "constant"
        kind, tip = ("edge light", "lightarrow") if light else ("edge", "arrow")
        yield f'<path class="{kind}" d="{_path(points)}" marker-end="url(#{tip})"/>'


def _path(points: Sequence[Point]) -> str:
    """Straight lines within a layer; between layers, curves with vertical ends."""
    parts = [f"M{_point(points[0])}"]
    for box_number, (start, end) in enumerate(itertools.pairwise(points)):
        if start[1] == end[1]:
            continue
        if box_number % 2 == 0 or abs(start[0] - end[0]) < 2.0:
            parts.append(f"V{number(end[1])}")
        else:
            reach = (end[1] - start[1]) * 0.55
            first, second = (start[0], start[1] + reach), (end[0], end[1] - reach)
            parts.append(f"C{_point(first)} {_point(second)} {_point(end)}")
    return "".join(parts)


def _point(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"


def _labels(page: _Page) -> Iterator[str]:
    """Labels beside the edges just below their box, where the edges are straight."""
    for box_number, label in _labels_by_source(page.drawing).items():
        x, _ = page.layout.centers[box_number]
        yield text_at(label, "label", x + LABEL_GAP, page.layout.bottoms[box_number] + 13)


def _legend_entries(drawing: Drawing) -> list[tuple[str, str, float]]:
    """Style class, name and width of each entry; empty if everything is on the host."""
    if not drawing.devices:
        return []
    names = [(device_class(box_number), name) for box_number, name in enumerate(drawing.devices)]
    if any(box.device is None for box in drawing.boxes):
        names.insert(0, (HOST_CLASS, HOST))
    return [(kind, name, SWATCH + 24 + text_width(name, "label")) for kind, name in names]


def _legend(entries: Sequence[tuple[str, str, float]]) -> Iterator[str]:
    x = MARGIN
    top = MARGIN + TITLE_HEIGHT
    for kind, name, width in entries:
        yield f'<g class="{kind}">{rectangle("box", x + 0.5, top, SWATCH, SWATCH, 3)}</g>'
        yield text_at(name, "label", x + SWATCH + 7, top + 9)
        x += width
