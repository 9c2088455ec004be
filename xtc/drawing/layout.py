# SPDX-License-Identifier: Apache-2.0
"""Places boxes and routes the edges between them, from top to bottom.

Units are those of the boxes' sizes (pixels). Chains of operators become straight lines: in each
layer, vertices are as close to their neighbors as order and distances allow.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.drawing.layers import Edge, Vertex, layered

COLUMN_GAP = 28.0
LANE_GAP = 16.0
ROW_GAP = 54.0
LABEL_ROOM = 17.0
LABEL_GAP = 10.0
PORT_GAP = 14.0
PORT_MARGIN = 8.0
SWEEPS = 16
_LIGHT = 1e-6
_BEND = 1e-4

Point = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """The positions of boxes and edges.

    Attributes:
        centers: the centers of the vertices.
        bottoms: for each vertex, the lower end of the layer it is in.
        edges: the points of the edges, two for each layer: straight down from an even point to the
            next odd one, then across to the next layer. The upper LABEL_ROOM of the gap between
            layers is for labels; no edge turns there.
        width, height: the size of the drawing; the upper left corner is (0, 0).
    """

    centers: list[Point]
    bottoms: list[float]
    edges: list[list[Point]]
    width: float
    height: float


def lay_out(vertices: Sequence[Vertex], edges: Sequence[Edge]) -> Layout:
    """Place `vertices`, given in topological order, and route `edges` between them."""
    layers, bends = layered(vertices, edges)
    _choose_columns(layers)
    for chain in bends:
        _straighten(chain, layers)
    everything = [vertex for layer in layers for vertex in layer]
    leftmost = min(vertex.x - vertex.width / 2 for vertex in everything)
    for vertex in everything:
        vertex.x -= leftmost
    rows = _rows(layers)
    last = [chain[-1] if chain else edge[0] for chain, edge in zip(bends, edges, strict=True)]
    ports = _ports(vertices, edges, last)
    return Layout(
        [(vertex.x, _middle(rows, vertex)) for vertex in vertices],
        [sum(rows[vertex.layer]) for vertex in vertices],
        [_points(e, b, p, rows) for e, b, p in zip(edges, bends, ports, strict=True)],
        max(vertex.x + max(vertex.width / 2, vertex.right) for vertex in everything),
        sum(rows[-1]),
    )


def _rows(layers: Sequence[Sequence[Vertex]]) -> list[Point]:
    """Top and height of every layer."""
    rows: list[Point] = []
    top = 0.0
    for layer in layers:
        height = max(vertex.height for vertex in layer)
        rows.append((top, height))
        top += height + ROW_GAP
    return rows


def _middle(rows: Sequence[Point], vertex: Vertex) -> float:
    top, height = rows[vertex.layer]
    return top + height / 2


def _choose_columns(layers: Sequence[Sequence[Vertex]]) -> None:
    for layer in layers:
        _move(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            _move(layer, [_wanted(v, v.above if down else v.below) for v in layer])
    for layer in reversed(layers):
        _move(layer, [_wanted(v, v.below) if v.light else v.x for v in layer])


def _wanted(vertex: Vertex, neighbors: Sequence[Vertex]) -> float:
    """The weighted mean of the neighbors on one side; its own position if there are none."""
    weights = [_pull(vertex, other) for other in neighbors]
    if not weights:
        return vertex.x
    total = sum(weight * other.x for weight, other in zip(weights, neighbors, strict=True))
    return total / sum(weights)


def _pull(vertex: Vertex, other: Vertex) -> float:
    """The weight of `other` for `vertex`: highest for boxes in a line, lowest for light ones."""
    if other.light:
        return _LIGHT
    return _BEND if other.bend and not vertex.bend else 1.0


def _move(layer: Sequence[Vertex], wanted: Sequence[float]) -> None:
    """Move a layer as close to the `wanted` positions as order and distances allow."""
    offsets = [0.0]
    for first, second in itertools.pairwise(layer):
        offsets.append(offsets[-1] + _distance(first, second))
    weights = [_LIGHT if vertex.light else _BEND if vertex.bend else 1.0 for vertex in layer]
    positions = isotonic([w - o for w, o in zip(wanted, offsets, strict=True)], weights)
    for vertex, position, offset in zip(layer, positions, offsets, strict=True):
        vertex.x = position + offset


def _distance(first: Vertex, second: Vertex) -> float:
    gap = LANE_GAP if first.bend or second.bend else COLUMN_GAP
    return max(first.width / 2 + second.width / 2 + gap, first.right + LABEL_GAP)


def isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The non-decreasing numbers nearest to `values` in weighted squares, by pooling violators."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, total, count = value, weight, 1
        while blocks and blocks[-1][0] > mean:
            other, other_total, other_count = blocks.pop()
            mean = (mean * total + other * other_total) / (total + other_total)
            total, count = total + other_total, count + other_count
        blocks.append((mean, total, count))
    return [mean for mean, _, count in blocks for _ in range(count)]


def _straighten(chain: Sequence[Vertex], layers: Sequence[Sequence[Vertex]]) -> None:
    """Straighten a long edge over as many layers as have a free lane."""
    run: list[Vertex] = []
    low, high = -math.inf, math.inf
    for bend in chain:
        free = _free_lane(bend, layers[bend.layer])
        if max(low, free[0]) > min(high, free[1]):
            _align(run, low, high)
            run, low, high = [], -math.inf, math.inf
        run.append(bend)
        low, high = max(low, free[0]), min(high, free[1])
    _align(run, low, high)


def _free_lane(bend: Vertex, layer: Sequence[Vertex]) -> tuple[float, float]:
    """The range in which `bend` can move without getting too close to its neighbors."""
    position = layer.index(bend)
    low = layer[position - 1].x + _distance(layer[position - 1], bend) if position else -math.inf
    after = layer[position + 1 : position + 2]
    high = min((other.x - _distance(bend, other) for other in after), default=math.inf)
    return min(low, bend.x), max(high, bend.x)


def _align(run: Sequence[Vertex], low: float, high: float) -> None:
    if run:
        middle = sorted(bend.x for bend in run)[len(run) // 2]
        for bend in run:
            bend.x = min(max(middle, low), high)


def _ports(
    vertices: Sequence[Vertex], edges: Sequence[Edge], last: Sequence[Vertex]
) -> list[float]:
    """The entry point of each edge: right below its source, if the target's box extends there."""
    entering: dict[Vertex, list[int]] = {vertex: [] for vertex in vertices}
    for index, (_, target) in enumerate(edges):
        entering[target].append(index)
    ports = [0.0] * len(edges)
    for target, indices in entering.items():
        indices.sort(key=lambda index: (last[index].x, index))
        reach = max(target.width / 2 - PORT_MARGIN, 0.0)
        gap = min(PORT_GAP, 2 * reach / max(len(indices) - 1, 1))
        lowest = target.x - reach
        highest = target.x + reach - gap * (len(indices) - 1)
        wanted = [
            min(max(last[index].x, lowest), target.x + reach) - position * gap
            for position, index in enumerate(indices)
        ]
        weights = [_pull(target, last[index]) for index in indices]
        for position, x in enumerate(isotonic(wanted, weights)):
            ports[indices[position]] = min(max(x, lowest), highest) + position * gap
    return ports


def _points(edge: Edge, bends: Sequence[Vertex], port: float, rows: Sequence[Point]) -> list[Point]:
    source, target = edge
    points = [
        (source.x, _middle(rows, source) + source.height / 2),
        (source.x, sum(rows[source.layer]) + LABEL_ROOM),
    ]
    for bend in bends:
        top, height = rows[bend.layer]
        points += [(bend.x, top), (bend.x, top + height + LABEL_ROOM)]
    return [
        *points,
        (port, rows[target.layer][0]),
        (port, _middle(rows, target) - target.height / 2),
    ]
