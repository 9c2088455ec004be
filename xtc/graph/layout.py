# SPDX-License-Identifier: Apache-2.0
"""Places boxes and routes the edges between them, from top to bottom; knows nothing of tensors.

Units are those of the boxes' sizes (pixels). Chains of operators come out as straight lines: in
each layer, vertices take the places nearest to their neighbours' that keep order and distances.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.graph.layers import Edge, Vertex, layered

COLUMN_GAP = 28.0
ROW_GAP = 46.0
BEND_WIDTH = 14.0
PORT_GAP = 14.0
PORT_MARGIN = 14.0
SWEEPS = 16
_LIGHT = 1e-4
_BEND = 1e-2

Point = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """Where everything is: centres of boxes, the segments of edges, the size of it all.

    An edge is a list of points, two for each layer it touches: it leaves one layer at an even index
    and enters the next one at the following odd index.
    """

    centres: list[Point]
    edges: list[list[Point]]
    width: float
    height: float


def lay_out(vertices: Sequence[Vertex], edges: Sequence[Edge]) -> Layout:
    """Place `vertices`, given in topological order, and route `edges` between them."""
    layers, bends = layered(vertices, edges)
    _choose_columns(layers)
    rows = _rows(layers)
    left = min(vertex.x - vertex.width / 2 for vertex in vertices)
    for layer in layers:
        for vertex in layer:
            vertex.x -= left
    last = [b[-1] if b else edge[0] for b, edge in zip(bends, edges, strict=True)]
    ports = _ports(vertices, edges, last)
    right = max(
        vertex.x + max(vertex.width / 2, vertex.right) for layer in layers for vertex in layer
    )
    bottom = sum(rows[-1])
    return Layout(
        [(vertex.x, _middle(rows, vertex)) for vertex in vertices],
        [_points(e, b, p, rows) for e, b, p in zip(edges, bends, ports, strict=True)],
        right,
        bottom,
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
        _place(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            _place(layer, [_wanted(vertex, down) for vertex in layer])
    for layer in reversed(layers):
        _place(layer, [_wanted_last(vertex) for vertex in layer])


def _wanted(vertex: Vertex, down: bool) -> float:
    """The weighted mean of the neighbours on one side, or where it is when it has none there."""
    return _weighted_mean(vertex, vertex.above if down else vertex.below)


def _wanted_last(vertex: Vertex) -> float:
    return _weighted_mean(vertex, vertex.below) if vertex.light else vertex.x


def _weighted_mean(vertex: Vertex, neighbours: Sequence[Vertex]) -> float:
    weights = [_pull(vertex, other) for other in neighbours]
    if not weights:
        return vertex.x
    total = sum(weight * other.x for weight, other in zip(weights, neighbours, strict=True))
    return total / sum(weights)


def _pull(vertex: Vertex, other: Vertex) -> float:
    """How much `other` attracts `vertex`: boxes in a line most, what stands beside them least."""
    if other.light:
        return _LIGHT
    return _BEND if other.bend and not vertex.bend else 1.0


def _place(layer: Sequence[Vertex], wanted: Sequence[float]) -> None:
    """Move a layer to the `wanted` places as nearly as order and distances allow."""
    offsets = [0.0]
    for first, second in itertools.pairwise(layer):
        offsets.append(offsets[-1] + _distance(first, second))
    weights = [_LIGHT if vertex.light else _BEND if vertex.bend else 1.0 for vertex in layer]
    places = isotonic([w - o for w, o in zip(wanted, offsets, strict=True)], weights)
    for vertex, place, offset in zip(layer, places, offsets, strict=True):
        vertex.x = place + offset


def _distance(first: Vertex, second: Vertex) -> float:
    if first.bend and second.bend:
        return BEND_WIDTH
    edge = first.width / 2 + second.width / 2 + COLUMN_GAP
    return max(edge, first.right + PORT_GAP)


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


def _ports(
    vertices: Sequence[Vertex], edges: Sequence[Edge], last: Sequence[Vertex]
) -> list[float]:
    """Where each edge enters its target: right below where it comes from, if the box is there."""
    entering: dict[Vertex, list[int]] = {vertex: [] for vertex in vertices}
    for index, (_, target) in enumerate(edges):
        entering[target].append(index)
    ports = [0.0] * len(edges)
    for target, indices in entering.items():
        indices.sort(key=lambda index: (last[index].x, index))
        gap = min(PORT_GAP, max(target.width - 2 * PORT_MARGIN, 0) / max(len(indices) - 1, 1))
        reach = target.width / 2 - PORT_MARGIN
        wanted = [
            min(max(last[index].x, target.x - reach), target.x + reach) - place * gap
            for place, index in enumerate(indices)
        ]
        weights = [_LIGHT if last[index].light else 1.0 for index in indices]
        for place, x in enumerate(isotonic(wanted, weights)):
            ports[indices[place]] = x + place * gap
    return ports


def _points(edge: Edge, bends: Sequence[Vertex], port: float, rows: Sequence[Point]) -> list[Point]:
    source, target = edge
    points = [(source.x, _middle(rows, source) + source.height / 2)]
    for bend in bends:
        top, height = rows[bend.layer]
        points += [(bend.x, top), (bend.x, top + height)]
    return [*points, (port, _middle(rows, target) - target.height / 2)]
