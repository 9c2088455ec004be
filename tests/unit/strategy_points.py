# SPDX-License-Identifier: Apache-2.0
"""Schedules as search strategies draw them: from grids of divisors, ends of the grids included.

A scheme is a sequence of levels. `P` has a loop for each axis of the result, `R` for each reduced
one, `T` for all in order, `O` for the first axis of the result, the reduced ones, then the others;
`W` buffers the result and `F` fuses a producer at the innermost loop so far. The first loop over an
axis covers all of it, the others are tiles whose sizes divide each other. The innermost loop is
vectorized where it is a tile along the rows of the result, those of the last levels are unrolled by
all that they run, and the first loops over whole axes of the result are parallel. `goto` is the
nest of Goto and van de Geijn with all its sizes free, `order` has one level of tiles in any order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from xtc.schedule import NodeSchedule

SCHEMES = ("OO", "PRP", "TT", "PPRPRP", "PPWRPRP", "PFPWRPRP", "PRPRT", "POP", "TRP", "PWR")
LANES = 16
MAX_UNROLLED = 256


@dataclass
class Point:
    """One sample: loops outermost first, with the size of each tile.

    Attributes:
        order: names of loops.
        tiles: sizes by name, by axis.
        unrolled: factors by loop.
        vectors: loops to vectorize.
        parallel: loops to parallelize.
        buffers: loops to buffer the result at.
        packs: loops and operands to pack there.
        fused: loops to fuse operand 0 at.
    """

    order: list[str]
    tiles: dict[str, dict[str, int]]
    unrolled: dict[str, int] = field(default_factory=dict)
    vectors: list[str] = field(default_factory=list)
    parallel: list[str] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)
    packs: list[tuple[str, int]] = field(default_factory=list)
    fused: list[str] = field(default_factory=list)

    def copies(self) -> float:
        """The number of copies of the body after unrolling; a vector counts as one element."""
        sizes = {name: size for tiles in self.tiles.values() for name, size in tiles.items()}
        lanes = min([LANES, *(sizes[name] for name in self.vectors)]) if self.vectors else 1
        return math.prod(self.unrolled.values()) / lanes

    def write(self, node: NodeSchedule, rng: Random) -> None:
        """Apply everything in one call each, in random order."""
        calls: list[Callable[[], object]] = [
            lambda: node.interchange(self.order),
            lambda: node.vectorize(self.vectors),
            lambda: node.unroll(self.unrolled),
            lambda: node.parallelize(self.parallel),
            *(partial(node.tile, axis, tiles) for axis, tiles in self.tiles.items()),
            *(partial(node.buffer_at, loop) for loop in self.buffers),
            *(partial(node.pack_at, loop, operand) for loop, operand in self.packs),
            *(partial(node.fuse_producer_at, loop, 0) for loop in self.fused),
        ]
        if rng.random() < 0.5:
            rng.shuffle(calls)
        for call in calls:
            call()


def draw_point(rng: Random, node: NodeSchedule) -> Point:
    """A point of a strategy for the operator, with a limited number of copies of its body."""
    reduced = [axis.name for axis in node.axes if axis.reduction]
    is_contraction = len(node.axes) == 3 and reduced == [node.axes[2].name]
    while True:
        kind = rng.choice(("scheme", "scheme", "order", "goto") if is_contraction else ("scheme",))
        point = {"scheme": _scheme, "order": _order, "goto": _goto}[kind](rng, node)
        if point.copies() <= MAX_UNROLLED:
            return point


def divisors(size: int) -> list[int]:
    """All of them, in order."""
    return [n for n in range(1, size + 1) if size % n == 0]


def _sizes(rng: Random, size: int, levels: int) -> list[int]:
    """Sizes of nested tiles: each divides the one before, the first the axis."""
    found = []
    for _ in range(levels):
        size = rng.choice(divisors(size))
        found.append(size)
    return found


def _scheme(rng: Random, node: NodeSchedule) -> Point:
    scheme = rng.choice(SCHEMES)
    point, levels = _levels(node, scheme)
    depth = {axis.name: 0 for axis in node.axes}
    for loop in point.order:
        depth[_axis(loop, node)] += 1
    for axis in node.axes:
        sizes = _sizes(rng, axis.size, depth[axis.name] - 1)
        names = [f"{axis.name}{n + 1}" for n in range(len(sizes))]
        if names:
            point.tiles[axis.name] = dict(zip(names, sizes, strict=True))
    _annotate(rng, node, point, levels)
    return point


def _levels(node: NodeSchedule, scheme: str) -> tuple[Point, list[list[str]]]:
    """The loops in order, with buffers and fused producers, and those of each level."""
    reduced = [axis.name for axis in node.axes if axis.reduction]
    others = [axis.name for axis in node.axes if not axis.reduction]
    axes = {"P": others, "R": reduced, "T": list(node.dims)}
    axes["O"] = [*others[:1], *reduced, *others[1:]]
    point, levels, depth = Point([], {}), [], dict.fromkeys(node.dims, 0)
    for letter in scheme:
        if letter == "W":
            point.buffers.append(point.order[-1])
        elif letter == "F" and node.space.computed:
            point.fused.append(point.order[-1])
        elif letter in axes:
            names = [f"{axis}{depth[axis] or ''}" for axis in axes[letter]]
            depth.update({axis: depth[axis] + 1 for axis in axes[letter]})
            point.order += names
            levels.append(names)
    for axis in node.dims:
        if not depth[axis]:
            point.order.append(axis)
    return point, levels


def _axis(loop: str, node: NodeSchedule) -> str:
    return next(axis for axis in node.dims if loop.rstrip("0123456789") == axis)


def _annotate(rng: Random, node: NodeSchedule, point: Point, levels: list[list[str]]) -> None:
    """Annotations that a scheme implies."""
    sizes = {name: size for tiles in point.tiles.values() for name, size in tiles.items()}
    inner = list(itertools.chain(*levels[-2:]))
    unrolled = list(itertools.takewhile(lambda loop: loop in sizes, reversed(inner)))
    point.unrolled = {loop: sizes[loop] for loop in unrolled if loop in point.order}
    rows = [axis.name for axis in node.axes if not axis.reduction][-1]
    last = point.order[-1]
    if last in sizes and _axis(last, node) == rows:
        point.vectors = [last]
    if rng.random() < 0.5:
        kept = {axis.name for axis in node.axes if not axis.reduction}
        point.parallel = list(itertools.takewhile(lambda loop: loop in kept, point.order))


def _order(rng: Random, node: NodeSchedule) -> Point:
    """One level of tiles in any order, all of them unrolled."""
    tiles = {axis.name: {f"{axis.name}1": rng.choice(divisors(axis.size))} for axis in node.axes}
    sizes = {name: size for tile in tiles.values() for name, size in tile.items()}
    inner = rng.sample(list(sizes), len(sizes))
    vectors = inner[-1:] if inner[-1] == f"{node.dims[1]}1" else []
    parallel = list(node.dims[: rng.choice((0, 1, 2))])
    return Point(
        [*node.dims, *inner], tiles, dict(reversed(list(sizes.items()))), vectors, parallel
    )


def _goto(rng: Random, node: NodeSchedule) -> Point:
    """Panels of both operands, packed or not, around a register tile."""
    i, j, k = node.dims
    sizes = {axis.name: _sizes(rng, axis.size, 2) for axis in node.axes}
    tiles = {axis: {f"{axis}1": sizes[axis][0], f"{axis}2": sizes[axis][1]} for axis in (i, j)}
    tiles[k] = {f"{k}1": sizes[k][0]}
    order = [j, k, i, f"{j}1", f"{i}1", f"{k}1", f"{i}2", f"{j}2"]
    unrolled = {f"{i}2": sizes[i][1], f"{k}1": sizes[k][1]}
    packs = [pack for pack in ((k, 1), (i, 0)) if rng.random() < 0.5]
    parallel = [j] if rng.random() < 0.5 else []
    return Point(order, tiles, unrolled, [f"{j}2"], parallel, packs=packs)
