# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc.ops as O
from tests.unit.graph_strategies import graphs
from xtc.drawing.layers import Edge, Vertex, crossings, layered
from xtc.drawing.layout import LABEL_ROOM, Layout, isotonic, lay_out
from xtc.drawing.palette import DEVICE_COLORS, HOST_COLORS
from xtc.drawing.svg_parts import text_width
from xtc.graph import dot, svg
from xtc.graph.drawing import Box, Drawing, Line, drawing_of, shortened
from xtc.graph.graph import Graph

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<&\">'\\ ]]> \x00\x1b\ud800 \u202e é"


def residual() -> Graph:
    x = O.tensor((1, 8, 8, 4), name="x", device="null0")
    w = O.tensor((3, 3, 4, 4), name="w", const=np.zeros((3, 3, 4, 4), np.float32))
    with O.graph(name="residual") as gb:
        h = O.relu(x, name="h", device="null0")
        y = O.conv2d(h, w, padding=1, name="y", device="null1")
        y = O.conv2d(O.relu(y, name="z"), w, padding=1, name="v")
        O.add(O.mul(y, 0.5, name="half"), h, name="sum")
    return gb.graph


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314  our own text


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def classes(root: ElementTree.Element) -> list[list[str]]:
    return [element.get("class", "").split() for element in root.iter(f"{SVG}g")]


# The contents of a drawing.


def test_a_drawing_shows_everything_once() -> None:
    drawing = drawing_of(residual())
    assert [(box.kind, box.heading) for box in drawing.boxes] == [
        ("input", "x"),
        ("operator", "relu"),
        ("constant", "w"),
        ("operator", "conv2d"),
        ("operator", "relu"),
        ("constant", "w"),
        ("operator", "conv2d"),
        ("constant", "const0"),
        ("operator", "mul"),
        ("operator", "add"),
        ("output", "sum"),
    ]
    assert drawing.devices == ("null0", "null1")
    assert drawing.boxes[3].details == ("y", "padding=((1, 1), (1, 1))")
    assert drawing.boxes[7].details == ("float32 = 0.5",)
    assert Line(1, 3, "1×8×8×4 float32") in drawing.lines
    assert Line(1, 9, "1×8×8×4 float32") in drawing.lines


def test_long_labels_are_shortened() -> None:
    assert shortened("a" * 40) == "a" * 40
    assert shortened("a" * 41) == "a" * 39 + "…"


@pytest.mark.slow
@given(graphs())
def test_every_graph_can_be_drawn(graph: Graph) -> None:
    root = parsed(graph.to_svg())
    kinds = [names[0] for names in classes(root) if names and names[0] != "hosted"]
    assert kinds.count("operator") == len(graph.nodes)
    assert kinds.count("input") == len(graph.inputs)
    assert kinds.count("output") == len(graph.outputs)
    assert {node.name for node in graph} <= set(texts(root))
    assert graph.to_svg() == graph.to_svg()
    assert graph.to_dot().count(" -> ") == root_edges(root)


def root_edges(root: ElementTree.Element) -> int:
    paths = root.iter(f"{SVG}path")
    return sum(path.get("class", "").split()[0] == "edge" for path in paths)


def test_the_legend_names_the_devices() -> None:
    root = parsed(residual().to_svg())
    assert texts(root)[:5] == [
        "residual",
        "6 operators · 1 input · 1 output · 2 constants (580 bytes)",
        "the host",
        "null0",
        "null1",
    ]
    style = root.findtext(f"{SVG}style") or ""
    assert f".device0 .box{{fill:{DEVICE_COLORS[0].fill}" in style
    assert f".device1 .box{{fill:{DEVICE_COLORS[1].fill}" in style
    assert ["operator", "device1"] in classes(root)


def test_without_devices_there_is_no_legend() -> None:
    with O.graph(name="plain") as gb:
        O.relu(O.tensor((2,), name="x"), name="y")
    assert texts(parsed(gb.graph.to_svg())) == [
        "plain", "1 operator · 1 input · 1 output", "2 float32", "2 float32",
        "x", "relu", "y", "y",
    ]  # fmt: skip
    assert "legend" not in gb.graph.to_dot()


def test_styles_stay_inside_the_drawing() -> None:
    style = parsed(residual().to_svg()).findtext(f"{SVG}style") or ""
    rules = [line for line in style.splitlines() if line and not line.startswith(("@", "}"))]
    assert all(line.startswith(".xtc-graph ") for line in rules)
    assert style.count("{") == style.count("}")


def test_any_text_is_well_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    nasty = Drawing(
        [Box("input", NASTY, (), NASTY, NASTY), Box("operator", NASTY, (NASTY,), NASTY, None)],
        [Line(0, 1, NASTY)],
        (NASTY,),
    )
    monkeypatch.setattr(svg, "drawing_of", lambda graph: nasty)
    root = parsed(residual().to_svg())
    shown = "<&\">'\\ ]]> \ufffd\ufffd\ufffd \u202e é"
    assert texts(root).count(shown) == 5
    monkeypatch.setattr(dot, "drawing_of", lambda graph: nasty)
    written = residual().to_dot()
    assert '\\" is not' not in written
    labels = re.findall(r'label=("(?:[^"\\]|\\.)*")', written)
    assert len(labels) == 6
    assert all(ord(character) >= 32 for label in labels for character in label)


def test_graphviz_text() -> None:
    lines = residual().to_dot().splitlines()
    assert lines[0] == 'digraph "residual" {'
    assert '  n0 [shape=oval, label="x", color="#2a9187", fillcolor="#dcf3f0"];' in lines
    assert any('label="conv2d\\ny\\npadding=((1, 1), (1, 1))"' in line for line in lines)
    assert '  n1 -> n3 [label="1×8×8×4 float32"];' in lines
    assert "  subgraph cluster_legend {" in lines
    assert any(HOST_COLORS.line in line and 'label="the host"' in line for line in lines)
    assert lines[-1] == "}"


def test_quoted_text_is_terminated() -> None:
    assert dot.quoted('a"b', "c\\", "d\ne") == '"a\\"b\\nc\\\\\\nd e"'


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
@given(graphs())
def test_graphviz_accepts_it(graph: Graph) -> None:
    command = [str(shutil.which("dot")), "-Tplain"]
    done = subprocess.run(command, input=graph.to_dot(), text=True, capture_output=True, check=True)
    assert done.stderr == ""
    assert done.stdout.startswith("graph ")


def test_wider_text_is_wider() -> None:
    assert text_width("mm", "label") > text_width("ii", "label")
    assert text_width("conv2d", "heading") > text_width("conv2d", "detail")


# The layout.


@st.composite
def drawings(draw: Any) -> tuple[list[Vertex], list[Edge]]:
    """Random acyclic drawings, with duplicate edges and long ones."""
    count = draw(st.integers(1, 12))
    sizes = st.floats(20, 200)
    vertices = [
        Vertex(draw(sizes), draw(sizes), draw(st.floats(0, 150)), draw(st.booleans()))
        for _ in range(count)
    ]
    pairs = list(itertools.combinations(range(count), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=16)) if pairs else []
    return vertices, [(vertices[a], vertices[b]) for a, b in chosen]


def rectangles(vertices: Sequence[Vertex], layout: Layout) -> list[tuple[float, ...]]:
    return [
        (x - v.width / 2, y - v.height / 2, x + v.width / 2, y + v.height / 2)
        for v, (x, y) in zip(vertices, layout.centers, strict=True)
    ]


@pytest.mark.slow
@given(drawings())
def test_boxes_do_not_overlap_and_lie_inside(drawing: tuple[list[Vertex], list[Edge]]) -> None:
    vertices, edges = drawing
    layout = lay_out(vertices, edges)
    boxes = rectangles(vertices, layout)
    for left, top, right, bottom in boxes:
        assert left >= -0.01
        assert top >= -0.01
        assert right <= layout.width + 0.01
        assert bottom <= layout.height + 0.01
    for (l1, t1, r1, b1), (l2, t2, r2, b2) in itertools.combinations(boxes, 2):
        assert r1 <= l2 or r2 <= l1 or b1 <= t2 or b2 <= t1


@pytest.mark.slow
@given(drawings())
def test_edges_lead_down_from_box_to_box(drawing: tuple[list[Vertex], list[Edge]]) -> None:
    vertices, edges = drawing
    layout = lay_out(vertices, edges)
    boxes = dict(zip(vertices, rectangles(vertices, layout), strict=True))
    for (source, target), points in zip(edges, layout.edges, strict=True):
        (_, _, _, bottom), (left, top, right, _) = boxes[source], boxes[target]
        assert points[0][1] == pytest.approx(bottom)
        assert points[-1][1] == pytest.approx(top)
        assert left <= points[-1][0] <= right
        heights = [y for _, y in points]
        assert all(low >= high - 1e-6 for high, low in itertools.pairwise(heights))
        assert all(-0.01 <= x <= layout.width + 0.01 for x, _ in points)
        assert all(start[0] == end[0] for start, end in verticals(points))


def verticals(points: Sequence[tuple[float, float]]) -> list[Any]:
    return list(zip(points[::2], points[1::2], strict=True))


@pytest.mark.slow
@given(drawings())
def test_no_edge_runs_through_a_box(drawing: tuple[list[Vertex], list[Edge]]) -> None:
    vertices, edges = drawing
    layout = lay_out(vertices, edges)
    boxes = rectangles(vertices, layout)
    for points in layout.edges:
        for (x, start), (_, end) in verticals(points):
            for left, top, right, bottom in boxes:
                inside = left + 0.01 < x < right - 0.01
                assert not inside or end <= top + 0.01 or start >= bottom - 0.01


@pytest.mark.slow
@given(drawings())
def test_labels_do_not_overlap(drawing: tuple[list[Vertex], list[Edge]]) -> None:
    """No other edge and no box overlaps a label."""
    vertices, edges = drawing
    layout = lay_out(vertices, edges)
    for vertex, (x, _), bottom in zip(vertices, layout.centers, layout.bottoms, strict=True):
        for points in layout.edges:
            for (other, start), (_, end) in verticals(points):
                beside = start < bottom + LABEL_ROOM - 0.01 and end > bottom + 0.01
                assert not beside or other <= x or other >= x + vertex.right


@pytest.mark.slow
@given(drawings())
def test_a_layout_is_repeatable(drawing: tuple[list[Vertex], list[Edge]]) -> None:
    vertices, edges = drawing
    place = {vertex: index for index, vertex in enumerate(vertices)}
    copies = [Vertex(v.width, v.height, v.right, v.light) for v in vertices]
    copied = [(copies[place[a]], copies[place[b]]) for a, b in edges]
    assert lay_out(vertices, edges) == lay_out(copies, copied)


def test_a_chain_is_a_straight_line() -> None:
    vertices = [Vertex(60 + 10 * (index % 3), 40, 80) for index in range(8)]
    layout = lay_out(vertices, list(itertools.pairwise(vertices)))
    assert len({x for x, _ in layout.centers}) == 1
    assert all(len({x for x, _ in points}) == 1 for points in layout.edges)


def test_a_shortcut_stays_in_one_lane() -> None:
    vertices = [Vertex(60, 40, 80) for _ in range(6)]
    edges = [*itertools.pairwise(vertices), (vertices[0], vertices[5])]
    layout = lay_out(vertices, edges)
    assert len({round(x) for x, _ in layout.centers}) == 1
    assert len({x for x, _ in layout.edges[-1][2:-2]}) == 1


def test_light_boxes_do_not_shift_a_chain() -> None:
    chain = [Vertex(60, 40, 80) for _ in range(4)]
    beside = [Vertex(100, 40, light=True) for _ in range(3)]
    vertices = [chain[0], *beside, *chain[1:]]
    edges = [*itertools.pairwise(chain), *zip(beside, chain[1:], strict=True)]
    lay_out(vertices, edges)
    assert max(v.x for v in chain) - min(v.x for v in chain) < 0.01


@pytest.mark.slow
@given(drawings())
def test_long_edges_bend_in_every_layer(drawing: tuple[list[Vertex], list[Edge]]) -> None:
    vertices, edges = drawing
    layers, bends = layered(vertices, edges)
    boxes = [vertex for layer in layers for vertex in layer if not vertex.bend]
    assert sorted(map(id, vertices)) == sorted(map(id, boxes))
    for (source, target), chain in zip(edges, bends, strict=True):
        steps = [vertex.layer for vertex in (source, *chain, target)]
        assert steps == list(range(source.layer, target.layer + 1))
    assert crossings(layers) == slow_crossings(layers)


def slow_crossings(layers: Sequence[Sequence[Vertex]]) -> int:
    count = 0
    for upper, lower in itertools.pairwise(layers):
        ends = [(a, lower.index(t)) for a, v in enumerate(upper) for t in v.below]
        pairs = itertools.combinations(ends, 2)
        count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in pairs)
    return count


def test_avoidable_crossings_are_removed() -> None:
    top = [Vertex(50, 20) for _ in range(3)]
    low = [Vertex(50, 20) for _ in range(3)]
    edges = [(top[0], low[2]), (top[1], low[1]), (top[2], low[0])]
    layers, _ = layered([*top, *low], edges)
    assert crossings(layers) == 0


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(0.1, 9)), max_size=8))
def test_isotonic_regression_agrees_with_scipy(pairs: list[tuple[float, float]]) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    values, weights = [value for value, _ in pairs], [weight for _, weight in pairs]
    found = isotonic(values, weights)
    assert found == sorted(found)
    if pairs:
        wanted = optimize.isotonic_regression(values, weights=weights).x
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_notebooks_show_drawings_and_prompts_text() -> None:
    graph = residual()
    assert graph._repr_svg_() == graph.to_svg()
    assert repr(graph) == (
        "<xtc.Graph residual(x: 1x8x8x4xfloat32) -> sum: 1x8x8x4xfloat32, 6 operators>"
    )
    assert repr(graph.inputs[0]) == "<xtc tensor x: 1x8x8x4xfloat32 @null0>"
    assert repr(graph.outputs[0]) == "<xtc tensor sum: 1x8x8x4xfloat32 of add>"
    assert repr(graph.nodes[0]) == "<xtc node %h = relu(%x) @null0 : 1x8x8x4xfloat32>"
