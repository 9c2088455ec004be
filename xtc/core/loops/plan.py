# SPDX-License-Identifier: Apache-2.0
"""What a nest comes to: its loops with known trip counts, and a part of its own for each remainder.

A size that tiles do not divide is cut into an even part and the rest; each goes on with the same
nest. So many parts, and so many copies of the body, are made of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xtc.core.errors import UserError
from xtc.core.loops.nest import Nest, NestLoop

MAX_PARTS = 256
"""Bodies that remainders make of one operation; each is tiled on its own, by several transforms."""

MANY_ELEMENTS = 64
"""So many elements of a vector operation take four registers, or more, of any machine."""


@dataclass(frozen=True)
class Body:
    """One application of the operation, to what the loops around leave.

    Attributes:
        vector: elements of the vector operations it becomes; 0 where it stays scalar.
    """

    vector: int = 0


@dataclass(frozen=True)
class Loops:
    """One loop, or several parallel ones that run as one.

    Attributes:
        loops: outermost first, each over another axis.
        sizes: elements of each axis that is looped over.
        steps: elements of it that one iteration covers; the size is a multiple.
        inner: what one iteration does.
    """

    loops: tuple[NestLoop, ...]
    sizes: Mapping[str, int]
    steps: Mapping[str, int]
    inner: Plan

    def trips(self, loop: NestLoop) -> int:
        """How often one of the loops runs."""
        return self.sizes[loop.axis] // self.steps[loop.axis]

    @property
    def runs_once(self) -> bool:
        """Whether there is no need of a loop."""
        return all(self.trips(loop) == 1 for loop in self.loops)


@dataclass(frozen=True)
class Split:
    """Parts of an axis, one after the other: `parts[n]` from `bounds[n]` to `bounds[n + 1]`."""

    axis: str
    bounds: tuple[int, ...]
    parts: tuple[Plan, ...]


Plan = Body | Loops | Split


def plan_nest(nest: Nest, title: str) -> Plan:
    """The plan of a legal nest. Raises UserError where it has more than `MAX_PARTS` bodies."""
    return _Planner(title).plan(nest, 0, {axis.name: axis.size for axis in nest.axes})


def code_size(plan: Plan) -> int:
    """Roughly how many bodies are written out; a vector of many elements counts as several."""
    if isinstance(plan, Body):
        return 1 + plan.vector // MANY_ELEMENTS
    if isinstance(plan, Split):
        return sum(map(code_size, plan.parts))
    copies = math.prod(_copies(loop.unroll, plan.trips(loop)) for loop in plan.loops)
    return copies * code_size(plan.inner)


def _copies(factor: int, trips: int) -> int:
    """Copies of the body of a loop that is unrolled: those of the loop and one for what is left."""
    factor = min(factor, trips)
    return factor + bool(trips % factor) if factor > 1 else 1


class _Planner:
    """Descends one nest and counts the bodies."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.bodies = 0

    def plan(self, nest: Nest, position: int, sizes: Mapping[str, int]) -> Plan:
        """What is left of `nest` from the loop at `position` on."""
        if position == len(nest.loops):
            return self._segments(nest, sizes) if nest.segments else self._body(0)
        if nest.loops[position].vectorize:
            axes = {loop.axis for loop in nest.loops[position:]}
            return self._body(math.prod(sizes[axis] for axis in axes))
        group = parallel_group(nest.loops, position)
        steps = {
            loop.axis: nest.step(position + place, sizes[loop.axis])
            for place, loop in enumerate(group)
        }
        uneven = next((axis for axis, step in steps.items() if sizes[axis] % step), None)
        if uneven is not None:
            even = sizes[uneven] - sizes[uneven] % steps[uneven]
            bounds = (0, even, sizes[uneven])
            return self._split(uneven, bounds, [(nest, position)] * 2, sizes)
        inner = self.plan(nest, position + len(group), {**sizes, **steps})
        return Loops(group, {axis: sizes[axis] for axis in steps}, steps, inner)

    def _segments(self, nest: Nest, sizes: Mapping[str, int]) -> Plan:
        first = nest.segments[0]
        bounds = (first.start, *(segment.stop for segment in nest.segments))
        return self._split(first.axis, bounds, [(s.nest, 0) for s in nest.segments], sizes)

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

    def _body(self, vector: int) -> Body:
        self.bodies += 1
        if self.bodies > MAX_PARTS:
            raise UserError(
                f"the schedule of {self.title} makes more than {MAX_PARTS} parts",
                notes=["each tile that does not divide what it is a tile of makes one more"],
                hints=["choose sizes that divide each other, or fewer tiles and segments"],
            )
        return Body(vector)


def parallel_group(loops: Sequence[NestLoop], position: int) -> tuple[NestLoop, ...]:
    """The loop at `position`, with the parallel ones that follow it over other axes."""
    first = loops[position]
    if not first.parallelize:
        return (first,)
    group = [first]
    for loop in loops[position + 1 :]:
        if not loop.parallelize or loop.axis in {one.axis for one in group}:
            break
        group.append(loop)
    return tuple(group)
