# SPDX-License-Identifier: Apache-2.0
"""Assigns the vertices of a drawing to layers, and orders each layer for few crossings.

Sugiyama's method: longest-path layering, a bend for every layer that a long edge crosses, then
barycenter sweeps. It is deterministic: equal graphs have equal drawings.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

SWEEPS = 12


@dataclass(eq=False)
class Vertex:
    """A box of the drawing, or (with `bend`) the point where a long edge crosses a layer.

    Attributes:
        width: its width in the layer.
        height: its height.
        right: how far the label of its outgoing edges extends to the right of the center.
        light: drawn beside its reader, and ignored in the placement of other vertices.
    """

    width: float = 0.0
    height: float = 0.0
    right: float = 0.0
    light: bool = False
    bend: bool = False
    x: float = 0.0
    layer: int = 0
    above: list[Vertex] = field(default_factory=list, repr=False)
    below: list[Vertex] = field(default_factory=list, repr=False)


Edge = tuple[Vertex, Vertex]


def layered(
    vertices: Sequence[Vertex], edges: Sequence[Edge]
) -> tuple[list[list[Vertex]], list[list[Vertex]]]:
    """Layers from top to bottom, bends included, and the bends of each edge.

    `vertices` are in topological order. Sets `layer`, `above` and `below`, which connect adjacent
    layers.
    """
    _choose_layers(vertices, edges)
    layers: list[list[Vertex]] = [[] for _ in range(1 + max(v.layer for v in vertices))]
    for vertex in vertices:
        layers[vertex.layer].append(vertex)
    bends = [_connect(source, target, layers) for source, target in edges]
    return _ordered(layers), bends


def _choose_layers(vertices: Sequence[Vertex], edges: Sequence[Edge]) -> None:
    """Every edge leads down; a vertex without incoming edges is right above its first reader."""
    before: dict[Vertex, list[Vertex]] = {vertex: [] for vertex in vertices}
    after: dict[Vertex, list[Vertex]] = {vertex: [] for vertex in vertices}
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    for vertex in vertices:
        vertex.layer = 1 + max((other.layer for other in before[vertex]), default=-1)
    for vertex in vertices:
        if not before[vertex] and after[vertex]:
            vertex.layer = min(other.layer for other in after[vertex]) - 1


def _connect(source: Vertex, target: Vertex, layers: list[list[Vertex]]) -> list[Vertex]:
    inner = range(source.layer + 1, target.layer)
    bends = [Vertex(bend=True, layer=layer) for layer in inner]
    for bend in bends:
        layers[bend.layer].append(bend)
    for upper, lower in itertools.pairwise([source, *bends, target]):
        upper.below.append(lower)
        lower.above.append(upper)
    return bends


def _ordered(layers: list[list[Vertex]]) -> list[list[Vertex]]:
    best, fewest = [list(layer) for layer in layers], crossings(layers)
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        down = sweep % 2 == 0
        order = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
        for index in order:
            _sort_layer(layers[index], layers[index - 1 if down else index + 1], down)
        count = crossings(layers)
        if count < fewest:
            best, fewest = [list(layer) for layer in layers], count
    return best


def _sort_layer(layer: list[Vertex], fixed: Sequence[Vertex], down: bool) -> None:
    position = _positions(fixed)
    own = _positions(layer)
    center = {
        vertex: _mean([position[n] for n in (vertex.above if down else vertex.below)], own[vertex])
        for vertex in layer
    }
    layer.sort(key=lambda vertex: center[vertex])


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _positions(layer: Iterable[Vertex]) -> Mapping[Vertex, int]:
    return {vertex: rank for rank, vertex in enumerate(layer)}


def crossings(layers: Sequence[Sequence[Vertex]]) -> int:
    """The number of crossing pairs of edges."""
    return sum(_crossings(upper, lower) for upper, lower in itertools.pairwise(layers))


def _crossings(upper: Sequence[Vertex], lower: Sequence[Vertex]) -> int:
    """Inversions between the ends of the edges, sorted by their beginnings."""
    position = _positions(lower)
    seen: list[int] = []
    count = 0
    for vertex in upper:
        ends = sorted(position[target] for target in vertex.below)
        count += sum(len(seen) - bisect.bisect_right(seen, end) for end in ends)
        for end in ends:
            bisect.insort(seen, end)
    return count
