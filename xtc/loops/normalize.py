# SPDX-License-Identifier: Apache-2.0
"""Normalizes degenerate requests in loop nests.

A search draws tile sizes, factors and annotations from grids, so a tile may be as large as its loop
and an unroll factor may be 1. Requests without effect are removed, with a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xtc.loops.check_mesh import shard_loops
from xtc.loops.nest import ALL, Extent, Nest, NestLoop, is_plain_reduction


def normalized(nest: Nest) -> Nest:
    """A complete nest without requests that have no effect, with a note for each of them.

    Unroll factors are limited to the trip count and removed from vectorized loops; annotations that
    need several iterations are removed from loops that run once.
    """
    return _normalized(_memories_outermost(nest), 1)


def _normalized(nest: Nest, around: int) -> Nest:
    """`around` is the number of iterations of the enclosing loops."""
    nest = _reductions_around_vectors(nest)
    notes = [*nest.notes, *_whole_tiles(nest), *_single_segments(nest)]
    loops = []
    for extent in nest.extents():
        around *= extent.trips
        fused, found = _fused(extent.loop, nest)
        loop, more = _loop(replace(extent, loop=fused), around)
        loops.append(_with_axes(loop, nest))
        notes += [*found, *more]
    segments = tuple(replace(s, nest=_normalized(s.nest, around)) for s in nest.segments)
    for segment in segments:
        notes += segment.nest.notes
    return replace(nest, loops=tuple(loops), segments=segments, notes=tuple(dict.fromkeys(notes)))


def _with_axes(loop: NestLoop, nest: Nest) -> NestLoop:
    """The loop with the axes of its external function set."""
    if loop.external is None or loop.external.axes:
        return loop
    position = [other.name for other in nest.loops].index(loop.name)
    inside = {other.axis for other in nest.loops[position + 1 :]}
    axes = tuple(name for name in nest.space.names if name in inside)
    return replace(loop, external=replace(loop.external, axes=axes))


def _memories_outermost(nest: Nest) -> Nest:
    """Move loops over memories outside the enclosing sequential loops, which each memory then runs.

    Iterations of a distributed loop are independent, so the order along every other axis is
    unchanged. A loop inside another loop over its axis stays in place.
    """
    over = shard_loops(nest)
    before = {loop.name: nest.loops[: nest.loops.index(loop)] for loop in over}
    inside = {
        loop.name: next((o for o in before[loop.name] if o not in over), None) for loop in over
    }
    moved = [loop for loop in over if inside[loop.name] is not None]
    tiles = any(o.axis == loop.axis for loop in moved for o in before[loop.name])
    if not moved or tiles:
        return nest
    notes = [
        f"'{loop.name}' runs over memories: it is moved outside '{around.name}'"
        for loop in moved
        if (around := inside[loop.name]) is not None
    ]
    rest = [loop for loop in nest.loops if loop not in over]
    return replace(nest, loops=(*over, *rest), notes=(*nest.notes, *notes))


def _reductions_around_vectors(nest: Nest) -> Nest:
    """Unroll vectorized reduction loops around vectorized loops over the result.

    Vectors of the result are accumulated along K in order, as a vector operation over both is
    lowered. Reductions that an instruction computes stay vectorized.
    """
    vectors = [loop for loop in nest.loops if loop.vectorize]
    reduced = [loop for loop in vectors if is_plain_reduction(nest, loop)]
    if not reduced or len(reduced) == len(vectors):
        return nest
    around = [replace(loop, vectorize=False, reassociate=False, unroll=ALL) for loop in reduced]
    first = min(nest.loops.index(loop) for loop in vectors)
    inner = [loop for loop in nest.loops[first:] if loop not in reduced]
    kept = next(loop.name for loop in vectors if loop not in reduced)
    notes = [
        f"'{loop.name}' is reduced: it is unrolled around the vectors of '{kept}'"
        for loop in reduced
    ]
    return replace(nest, loops=(*nest.loops[:first], *around, *inner), notes=(*nest.notes, *notes))


def _fused(loop: NestLoop, nest: Nest) -> tuple[NestLoop, list[str]]:
    """The loop without fusions of arguments and constants, and a note for each."""
    there = range(nest.space.operands)
    given = [n for n in loop.fuse if n in there and n not in nest.space.computed]
    notes = [f"operand {n} is an argument or a constant: fuse has no effect" for n in given]
    return replace(loop, fuse=tuple(n for n in loop.fuse if n not in given)), notes


def _loop(extent: Extent, around: int) -> tuple[NestLoop, list[str]]:
    """The loop without annotations that have no effect, and a note for each."""
    loop, notes = extent.loop, []
    if loop.vectorize and extent.size == 1:
        notes.append(f"'{loop.name}' has one element: vectorize has no effect")
        loop = replace(loop, vectorize=False, reassociate=False)
    if loop.parallelize and extent.trips == 1:
        notes.append(f"'{loop.name}' runs once: parallelize has no effect")
        loop = replace(loop, parallelize=False)
    if loop.fuse and around == 1:
        notes.append(f"'{loop.name}' runs once: fuse has no effect")
        loop = replace(loop, fuse=())
    if loop.consumer and around == 1:
        notes.append(f"'{loop.name}' runs once: fuse_consumer has no effect")
        loop = replace(loop, consumer=False)
    factor, note = _factor(loop, extent.trips)
    return replace(loop, unroll=factor), [*notes, *note]


def _factor(loop: NestLoop, trips: int) -> tuple[int, list[str]]:
    """The effective unroll factor, and a note if it differs from the request."""
    factor = loop.unroll
    if not factor or (factor < 1 and factor != ALL):
        return factor, []
    if loop.vectorize:
        return 0, [f"'{loop.name}' is vectorized, so unrolled: unroll has no effect"]
    if trips == 1:
        return 0, [f"'{loop.name}' runs once: unroll has no effect"]
    if factor == 1:
        return 0, [f"unroll of '{loop.name}' by 1 has no effect"]
    if factor > trips:
        return trips, [f"'{loop.name}' is unrolled by {trips}, all of its iterations"]
    return trips if factor == ALL else factor, []


def _whole_tiles(nest: Nest) -> Iterator[str]:
    """Notes for tiles that cover their whole parent loop."""
    around: dict[str, NestLoop] = {}
    for extent in nest.extents():
        loop = extent.loop
        outer = around.get(loop.axis)
        size = nest.space.size(loop.axis) if outer is None else outer.tile
        size = nest.space.size(loop.axis) if size is None else size
        if loop.tile is not None and loop.tile == size and size > 1 and outer is not None:
            yield f"'{loop.name}' covers all of '{outer.name}', which runs once"
        around[loop.axis] = loop


def _single_segments(nest: Nest) -> Iterator[str]:
    if len(nest.segments) == 1:
        yield f"the split of '{nest.segments[0].axis}' has one segment, which has no effect"
