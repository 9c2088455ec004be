# SPDX-License-Identifier: Apache-2.0
"""The plan of a nest: its loops with known trip counts, and a part for each remainder.

A size that tiles do not divide is split into a divisible part and a remainder; both have the same
inner nest, with separate copies of the body.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from xtc.core.errors import UserError
from xtc.loops.check_mesh import check_memories, shard_loops, thread_loops
from xtc.loops.external import External
from xtc.loops.nest import Nest, NestLoop, is_plain_reduction

Level = Literal["", "memories", "processors", "blocks", "threads"]
"""The units that share the iterations of a loop: the memories of a mesh, the processors of one
memory, the blocks of a grid, the threads of a block; "" for one processor or the host's threads."""

MAX_PARTS = 256
"""Bodies of one operation with its remainders, at most; several transforms tile each of them."""

MANY_ELEMENTS = 64
"""Vector operations of this many elements need at least four registers on any machine."""


@dataclass(frozen=True)
class Body:
    """The operation on the tile that the enclosing loops leave.

    Attributes:
        vector: the number of elements of its vector operations; 0 if it stays scalar.
        external: the function that is called instead, or None.
    """

    vector: int = 0
    external: External | None = None


@dataclass(frozen=True)
class Loops:
    """One loop, or several collapsed parallel loops.

    Attributes:
        loops: outermost first, each over a different axis.
        sizes: the number of elements of each axis.
        steps: the number of elements that an iteration covers; it divides the size.
        inner: the plan of an iteration.
        level: what shares the iterations; "" for one processor or the host's threads.
        mesh_axes: the mesh axes of the loops.
        before: operands to pack before the loops.
        partial: whether iterations accumulate a vector of partial sums, which is reduced after.
    """

    loops: tuple[NestLoop, ...]
    sizes: Mapping[str, int]
    steps: Mapping[str, int]
    inner: Plan
    level: Level = ""
    mesh_axes: tuple[str, ...] = ()
    before: tuple[int, ...] = ()
    partial: bool = False

    def trips(self, loop: NestLoop) -> int:
        """The trip count of one of the loops."""
        return self.sizes[loop.axis] // self.steps[loop.axis]

    @property
    def runs_once(self) -> bool:
        """Whether the loops have a single iteration."""
        return all(self.trips(loop) == 1 for loop in self.loops)


@dataclass(frozen=True)
class Split:
    """Successive parts of an axis: `parts[n]` from `bounds[n]` to `bounds[n + 1]`."""

    axis: str
    bounds: tuple[int, ...]
    parts: tuple[Plan, ...]


Plan = Body | Loops | Split


def plan_nest(nest: Nest, title: str, *, distributed: bool = False) -> Plan:
    """The plan of a legal nest. Raises UserError if it has more than `MAX_PARTS` bodies.

    If it is `distributed` but no loop is over the processors of a memory, one processor computes
    everything inside the innermost packing.
    """
    if distributed:
        check_memories(nest, title)
    alone = _alone(nest) if distributed and not thread_loops(nest) else None
    sizes = {axis.name: axis.size for axis in nest.axes}
    return _Planner(title, nest, alone).plan(nest, 0, sizes)


def sharded_operands(nest: Nest) -> tuple[int, ...]:
    """The numbers of operands that are sharded over memories."""
    return tuple(dict.fromkeys(operand for loop in nest.loops for operand, _ in loop.shard))


def first_parallel(nest: Nest) -> str | None:
    """The first axis of the result; None if it has a single element."""
    return next((axis.name for axis in nest.axes if not axis.reduction), None)


def _alone(nest: Nest) -> int:
    """The number of the loop from which on a single processor runs."""
    for position in range(len(nest.loops), 0, -1):
        loop = nest.loops[position - 1]
        if loop.pack or loop.buffer or loop.fuse or loop in shard_loops(nest):
            return position
    return 0


def code_size(plan: Plan) -> int:
    """The approximate number of bodies; a vector of many elements counts as several."""
    if isinstance(plan, Body):
        return 1 + plan.vector // MANY_ELEMENTS
    if isinstance(plan, Split):
        return sum(map(code_size, plan.parts))
    copies = math.prod(_copies(loop.unroll, plan.trips(loop)) for loop in plan.loops)
    return copies * code_size(plan.inner)


def _copies(factor: int, trips: int) -> int:
    """The copies of an unrolled body: those in the loop and one for the remainder."""
    factor = min(factor, trips)
    return factor + bool(trips % factor) if factor > 1 else 1


class _Planner:
    """Plans one nest recursively and counts the bodies."""

    def __init__(self, title: str, root: Nest, alone: int | None) -> None:
        self.title = title
        self.root = root
        self.alone = alone
        self.bodies = 0

    def plan(self, nest: Nest, position: int, sizes: Mapping[str, int]) -> Plan:
        """The plan of `nest` from the loop at `position` on."""
        axis = first_parallel(self.root)
        if nest is self.root and position == self.alone and axis is not None:
            whole = {axis: sizes[axis]}
            self.alone = None
            inner = self._plan(nest, position, sizes)
            self.alone = position
            return Loops((NestLoop(axis),), whole, whole, inner, "processors")
        return self._plan(nest, position, sizes)

    def _plan(self, nest: Nest, position: int, sizes: Mapping[str, int]) -> Plan:
        if position == len(nest.loops):
            return self._segments(nest, sizes) if nest.segments else self._body(0)
        external = nest.loops[position - 1].external if position else None
        if external is not None:
            return self._body(0, external)
        if nest.loops[position].vectorize:
            partial = _partial_loop(nest)
            if partial is not None and partial >= position:
                return self._partial_sums(nest.loops[partial], sizes)
            axes = {loop.axis for loop in nest.loops[position:]}
            return self._body(math.prod(sizes[axis] for axis in axes))
        group = loop_group(nest, position)
        steps = {
            loop.axis: nest.step(position + depth, sizes[loop.axis])
            for depth, loop in enumerate(group)
        }
        uneven = next((axis for axis, step in steps.items() if sizes[axis] % step), None)
        if uneven is not None:
            even = sizes[uneven] - sizes[uneven] % steps[uneven]
            bounds = (0, even, sizes[uneven])
            return self._split(uneven, bounds, [(nest, position)] * 2, sizes)
        if group[0].distribute:
            return self._distributed(nest, position, group, sizes, steps)
        inner = self.plan(nest, position + len(group), {**sizes, **steps})
        extents = {axis: sizes[axis] for axis in steps}
        partial = _partial_loop(nest) == position
        return Loops(group, extents, steps, inner, _level(nest, position), partial=partial)

    def _partial_sums(self, vector: NestLoop, sizes: Mapping[str, int]) -> Plan:
        """Vectors over the whole rest of a reduction, without a loop around them."""
        axis, size = vector.axis, sizes[vector.axis]
        step = next(lanes for lanes in range(min(size, MANY_ELEMENTS), 0, -1) if size % lanes == 0)
        loop = NestLoop(axis, name=vector.name)
        inner = self._body(step)
        return Loops((loop,), {axis: size}, {axis: step}, inner, partial=True)

    def _distributed(
        self,
        nest: Nest,
        position: int,
        group: tuple[NestLoop, ...],
        sizes: Mapping[str, int],
        steps: Mapping[str, int],
    ) -> Plan:
        """Each mesh index runs the same number of iterations, sequentially if several."""
        shares: dict[str, int] = {}
        for loop in group:
            step, count = steps[loop.axis], _mesh_size(nest, loop)
            trips = sizes[loop.axis] // step
            shares[loop.axis] = max(1, trips // count) * step
            if trips > count and trips % count:
                bounds = (0, count * shares[loop.axis], sizes[loop.axis])
                return self._split(loop.axis, bounds, [(nest, position)] * 2, sizes)
        inner = self.plan(nest, position + len(group), {**sizes, **steps})
        sharded = group[0] in shard_loops(nest)
        last = replace(group[-1], distribute="", pack=group[-1].pack if sharded else ())
        plain = [NestLoop(member.axis, member.tile, member.name) for member in group]
        again = [entry for entry in plain if shares[entry.axis] > steps[entry.axis]]
        for loop in reversed(again):
            what = last if loop is again[-1] else NestLoop(loop.axis)
            again_loop = replace(what, axis=loop.axis, tile=loop.tile, name=loop.name)
            axis = loop.axis
            inner = Loops((again_loop,), {axis: shares[axis]}, {axis: steps[axis]}, inner)
        inmost = plain[-1] if again else last
        extents = {axis: sizes[axis] for axis in shares}
        mesh_axes = tuple(loop.distribute for loop in group)
        if sharded:  # a memory holds its shard for all iterations
            held = (*sharded_operands(nest), *inmost.pack)
            inmost = replace(inmost, pack=tuple(dict.fromkeys(held)))
            outer = (*plain[:-1], inmost)
            return Loops(outer, extents, shares, inner, "memories", mesh_axes)
        outer = (*plain[:-1], inmost)
        before = tuple(dict.fromkeys(operand for loop in group for operand in loop.pack))
        return Loops(outer, extents, shares, inner, "processors", mesh_axes, before)

    def _segments(self, nest: Nest, sizes: Mapping[str, int]) -> Plan:
        """The segments; for a remainder with fewer elements, only the first ones."""
        axis = nest.segments[0].axis
        parts = [part for part in nest.segments if part.start < sizes[axis]]
        bounds = (0, *(min(part.stop, sizes[axis]) for part in parts))
        return self._split(axis, bounds, [(part.nest, 0) for part in parts], sizes)

    def _split(
        self,
        axis: str,
        bounds: tuple[int, ...],
        nests: Sequence[tuple[Nest, int]],
        sizes: Mapping[str, int],
    ) -> Split:
        parts = tuple(
            self.plan(nest, position, {**sizes, axis: stop - start})
            for (nest, position), start, stop in zip(nests, bounds, bounds[1:], strict=False)
        )
        return Split(axis, bounds, parts)

    def _body(self, vector: int, external: External | None = None) -> Body:
        self.bodies += 1
        if self.bodies > MAX_PARTS:
            raise UserError(
                f"the schedule of {self.title} makes more than {MAX_PARTS} parts",
                notes=["each tile that does not divide its parent adds a part"],
                hints=["choose sizes that divide each other, or fewer tiles and segments"],
            )
        return Body(vector, external)


def _mesh_size(nest: Nest, loop: NestLoop) -> int:
    """The number of mesh indices that share the iterations of a distributed loop."""
    mesh = nest.space.mesh
    return mesh.size(loop.distribute) if mesh else 1


def _partial_loop(nest: Nest) -> int | None:
    """The number of the last loop around vectors over a reduction, else of the vectors."""
    vectors = (loop for loop in nest.loops if loop.vectorize and is_plain_reduction(nest, loop))
    vector = next(vectors, None)
    if vector is None:
        return None
    over = (number for number, loop in enumerate(nest.loops) if loop.axis == vector.axis)
    inside = nest.loops.index(vector)
    return max((number for number in over if number < inside), default=inside)


def loop_group(nest: Nest, position: int) -> tuple[NestLoop, ...]:
    """The loop at `position` with the following loops collapsed into it."""
    loop = nest.loops[position]
    if not loop.distribute:
        return parallel_group(nest, position)
    sharded, threaded = shard_loops(nest), thread_loops(nest)
    return tuple(sharded if loop in sharded else threaded)


def parallel_group(nest: Nest, position: int) -> tuple[NestLoop, ...]:
    """The loop at `position` with the following parallel loops collapsed into it.

    A group ends before a second loop over an axis and, on machines with blocks of threads, after a
    loop that has a tile inside: the block's tile, which its threads share.
    """
    first = nest.loops[position]
    if not first.parallelize:
        return (first,)
    group = [first]
    for loop in nest.loops[position + 1 :]:
        if not loop.parallelize or loop.axis in {member.axis for member in group}:
            break
        if nest.space.levels > 1 and (group[-1].pack or group[-1].buffer or group[-1].fuse):
            break
        group.append(loop)
    return tuple(group)


def parallel_groups(nest: Nest) -> list[tuple[NestLoop, ...]]:
    """The parallel loops of a nest in collapsed groups, outermost first."""
    groups: list[tuple[NestLoop, ...]] = []
    position = 0
    while position < len(nest.loops):
        group = parallel_group(nest, position)
        position += len(group)
        if group[0].parallelize:
            groups.append(group)
    return groups


def _level(nest: Nest, position: int) -> Level:
    """The level of the parallel loops at `position`, on machines with blocks of threads."""
    groups = parallel_groups(nest) if nest.space.levels > 1 else []
    if len(groups) < 2 or not nest.loops[position].parallelize:
        return ""
    return "blocks" if nest.loops[position] in groups[0] else "threads"
