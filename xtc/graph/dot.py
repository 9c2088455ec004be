# SPDX-License-Identifier: Apache-2.0
"""A graph as Graphviz text, for `dot -Tpdf` and other layout programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xtc.drawing.palette import HOST_COLORS, Colors, device_colors
from xtc.graph.drawing import HOST, Box, Drawing, drawing_of

if TYPE_CHECKING:
    from xtc.graph.graph import Graph

_NOT_TEXT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SHAPES = {
    "input": "shape=oval",
    "constant": "shape=note",
    "operator": "shape=box",
    "output": "shape=oval, peripheries=2",
}


def dot_text(graph: Graph) -> str:
    """Graphviz text of `graph`: shapes distinguish inputs, constants, operators and outputs."""
    drawing = drawing_of(graph)
    colors = device_colors(drawing.devices)
    lines = [
        f"digraph {quoted(graph.name)} {{",
        '  graph [fontname="Helvetica", nodesep=0.35, ranksep=0.45];',
        '  node [fontname="Helvetica", fontsize=11, style="filled,rounded"];',
        '  edge [fontname="Helvetica", fontsize=9, color="#6b7484"];',
        *(
            _node(box_number, box, colors[box.device])
            for box_number, box in enumerate(drawing.boxes)
        ),
        *(
            f"  n{line.source} -> n{line.target} [label={quoted(line.label)}];"
            for line in drawing.lines
        ),
        *_legend(drawing),
        "}",
    ]
    return "\n".join(lines) + "\n"


def quoted(*lines: str) -> str:
    """Lines of text as one quoted Graphviz string."""
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(_NOT_TEXT.sub(" ", line) for line in escaped) + '"'


def _node(box_number: int, box: Box, colors: Colors) -> str:
    style = ', style="filled"' if box.kind == "constant" else ""
    return (
        f"  n{box_number} [{_SHAPES[box.kind]}, label={quoted(box.heading, *box.details)}, "
        f'color="{colors.line}", fillcolor="{colors.fill}"{style}];'
    )


def _legend(drawing: Drawing) -> Sequence[str]:
    if not drawing.devices:
        return []
    colors = device_colors(drawing.devices)
    entries = [(HOST, HOST_COLORS), *((name, colors[name]) for name in drawing.devices)]
    return [
        "  subgraph cluster_legend {",
        '    label="where"; fontsize=10; color="#c3cad5"; style="rounded";',
        *(
            f"    l{number} [shape=box, label={quoted(name)}, "
            f'color="{shades.line}", fillcolor="{shades.fill}"];'
            for number, (name, shades) in enumerate(entries)
        ),
        "  }",
    ]
