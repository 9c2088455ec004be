# SPDX-License-Identifier: Apache-2.0
"""A graph as an SVG drawing: operators from top to bottom, what flows between them, and where.

The drawing stands on a card of its own, light or dark as the reader's system is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xtc.graph.drawing import HOST, Box, Drawing, drawing_of
from xtc.graph.graph import Graph
from xtc.graph.layers import Vertex
from xtc.graph.layout import Layout, Point, lay_out
from xtc.graph.svg_style import style_sheet
from xtc.graph.svg_text import escaped, number, text_width

MARGIN = 24.0
PADDING = 14.0
HEADING_LINE = 18.0
DETAIL_LINE = 14.0
FOLD = 9.0
LABEL_GAP = 7.0
TITLE_HEIGHT = 46.0
LEGEND_HEIGHT = 30.0
SWATCH = 11.0


@dataclass(frozen=True)
class _Page:
    """Where the graph stands on the card."""

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
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="title summary">'
    )
    yield f'<title id="title">{escaped(title)}</title>'
    yield f'<desc id="summary">{escaped(summary)}</desc>'
    yield f"<style>{style_sheet(page.drawing.devices)}</style>"
    yield (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6.5" '
        'markerHeight="6.5" orient="auto"><path class="tip" d="M0.5 0.8 7.5 4 0.5 7.2z"/>'
        "</marker></defs>"
    )
    yield (
        f'<rect class="card" x="0.5" y="0.5" width="{number(page.width - 1)}" '
        f'height="{number(page.height - 1)}" rx="12"/>'
    )
    yield _text(title, "title", MARGIN, MARGIN + 14)
    yield _text(summary, "label", MARGIN, MARGIN + 31)
    yield from _legend(legend)
    yield f'<g transform="translate({number(page.left)} {number(page.top)})">'
    yield from _edges(page)
    yield from _labels(page)
    for box, centre in zip(page.drawing.boxes, page.layout.centres, strict=True):
        yield from _box(box, centre, page.drawing.devices)
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
            width=_width(box),
            height=_height(box),
            right=LABEL_GAP + text_width(labels[place], "label") if place in labels else 0.0,
            light=box.kind == "constant",
        )
        for place, box in enumerate(drawing.boxes)
    ]
    return lay_out(vertices, [(vertices[e.source], vertices[e.target]) for e in drawing.lines])


def _labels_by_source(drawing: Drawing) -> dict[int, str]:
    """One label for all edges that leave a box; a constant has its type inside."""
    return {
        line.source: line.label
        for line in drawing.lines
        if drawing.boxes[line.source].kind != "constant"
    }


def _width(box: Box) -> float:
    widths = [text_width(box.heading, "heading")]
    widths += [text_width(text, "detail") for text in box.details]
    return max(widths) + 2 * PADDING


def _height(box: Box) -> float:
    return HEADING_LINE + DETAIL_LINE * len(box.details) + 12.0


def _edges(page: _Page) -> Iterator[str]:
    for line, points in zip(page.drawing.lines, page.layout.edges, strict=True):
        light = page.drawing.boxes[line.source].kind == "constant"
        kind = "edge light" if light else "edge"
        yield f'<path class="{kind}" d="{_path(points)}" marker-end="url(#arrow)"/>'


def _path(points: Sequence[Point]) -> str:
    """Curves from layer to layer that start and end upright, straight lines through a layer."""
    parts = [f"M{_point(points[0])}"]
    for place, (start, end) in enumerate(itertools.pairwise(points)):
        if place % 2 == 1 or abs(start[0] - end[0]) < 0.5:
            parts.append(f"L{_point(end)}")
        else:
            reach = (end[1] - start[1]) * 0.5
            first, second = (start[0], start[1] + reach), (end[0], end[1] - reach)
            parts.append(f"C{_point(first)} {_point(second)} {_point(end)}")
    return "".join(parts)


def _point(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"


def _labels(page: _Page) -> Iterator[str]:
    for place, label in _labels_by_source(page.drawing).items():
        x, y = page.layout.centres[place]
        bottom = y + _height(page.drawing.boxes[place]) / 2
        yield _text(label, "label", x + LABEL_GAP, bottom + 15)


def _box(box: Box, centre: Point, devices: Sequence[str]) -> Iterator[str]:
    x, y = centre
    colour = "host" if box.device is None else f"device{devices.index(box.device)}"
    top = y - _height(box) / 2
    yield f'<g class="{box.kind} {colour}"><title>{escaped(box.tooltip)}</title>'
    yield from _outline(box, x - _width(box) / 2, top, _width(box), _height(box))
    yield _text(box.heading, "heading", x, top + 6 + 13)
    for place, text in enumerate(box.details):
        yield _text(text, "detail", x, top + 6 + HEADING_LINE + DETAIL_LINE * place + 10.5)
    yield "</g>"


def _outline(box: Box, x: float, y: float, width: float, height: float) -> Iterator[str]:
    if box.kind == "constant":
        right, bottom = number(x + width), number(y + height)
        start, fold = f"{number(x)} {number(y)}", f"{number(x + width - FOLD)} {number(y)}"
        yield (
            f'<path class="box" d="M{start}H{number(x + width - FOLD)}'
            f'L{right} {number(y + FOLD)}V{bottom}H{number(x)}z"/>'
        )
        yield f'<path class="fold" d="M{fold}v{number(FOLD)}h{number(FOLD)}"/>'
        return
    radius = 8.0 if box.kind == "operator" else height / 2
    yield _rectangle("box", x, y, width, height, radius)
    if box.kind == "output":
        yield _rectangle("inner", x + 3, y + 3, width - 6, height - 6, radius - 3)


def _rectangle(kind: str, x: float, y: float, width: float, height: float, radius: float) -> str:
    return (
        f'<rect class="{kind}" x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(height)}" rx="{number(radius)}"/>'
    )


def _text(text: str, kind: str, x: float, y: float) -> str:
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}">{escaped(text)}</text>'


def _legend_entries(drawing: Drawing) -> list[tuple[str, str, float]]:
    """Style class, name and width of each entry; none where everything is on the host."""
    if not drawing.devices:
        return []
    names = [(f"device{place}", name) for place, name in enumerate(drawing.devices)]
    if any(box.device is None for box in drawing.boxes):
        names.insert(0, ("host", HOST))
    return [(kind, name, SWATCH + 24 + text_width(name, "label")) for kind, name in names]


def _legend(entries: Sequence[tuple[str, str, float]]) -> Iterator[str]:
    x = MARGIN
    top = MARGIN + TITLE_HEIGHT
    for kind, name, width in entries:
        yield f'<g class="{kind}">{_rectangle("box", x + 0.5, top, SWATCH, SWATCH, 3)}</g>'
        yield _text(name, "label", x + SWATCH + 7, top + 9)
        x += width
