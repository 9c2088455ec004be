# SPDX-License-Identifier: Apache-2.0
"""Legality of loop nests; each error names the loop, the reason and a fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from xtc.core.errors import UserError, did_you_mean, shown
from xtc.loops.check_external import check_external
from xtc.loops.check_mesh import check_distribution
from xtc.loops.check_operands import check_not_vectorized, check_operands
from xtc.loops.incomplete import IncompleteError
from xtc.loops.nest import Nest, NestLoop, Space, is_plain_reduction
from xtc.loops.plan import code_size, parallel_groups, plan_nest

MAX_UNROLLED = 512
"""Copies of one body, at most; LLVM's time grows with their square, to seconds at this limit."""
MAX_VECTOR = 4096
"""Elements of one vector operation, at most, for the same reason."""
MAX_CODE = 1024
"""Replicated bodies over all parts, at most."""
MAX_LOOPS = 64


@dataclass(frozen=True)
class Outside:
    """The loops around a segment.

    Attributes:
        axes: the axes of these loops.
        loop: the innermost of them, or None.
    """

    axes: frozenset[str] = frozenset()
    loop: NestLoop | None = None

    def inside(self, nest: Nest) -> Outside:
        """The same for the segments of `nest`."""
        axes = self.axes | {loop.axis for loop in nest.loops}
        return Outside(axes, nest.loops[-1] if nest.loops else self.loop)


@lru_cache(maxsize=1024)  # successive passes read the same schedules
def check_nest(nest: Nest, title: str) -> None:
    """Raise UserError unless the completed `nest` is legal for the operation."""
    _check(nest, title, Outside())
    check_distribution(nest, title)
    check_operands(nest, title)
    check_external(nest, title)
    size = code_size(plan_nest(nest, title))
    if size > MAX_CODE:
        raise IncompleteError(
            f"the schedule of {title} replicates its body about {size} times; {MAX_CODE} at most",
            hints=["unroll fewer loops, vectorize smaller tiles, choose tiles that divide"],
        )


def check_axis(name: str, space: Space, title: str) -> None:
    """Raise UserError unless the space has an axis called `name`."""
    if space.axis(name) is None:
        hints = did_you_mean(name, space.names)
        raise UserError(f"{title} has no axis {shown(name)}", hints=hints)


def _check(nest: Nest, title: str, outside: Outside) -> None:
    for rule in _RULES:
        rule(nest, title, outside)
    for segment in nest.segments:
        _check(segment.nest, title, outside.inside(nest))


def _known_axes(nest: Nest, title: str, outside: Outside) -> None:
    if len(nest.loops) > MAX_LOOPS:
        raise UserError(f"the schedule of {title} has {len(nest.loops)} loops; at most {MAX_LOOPS}")
    for name in [loop.axis for loop in nest.loops] + [part.axis for part in nest.segments[:1]]:
        check_axis(name, nest.space, title)


def _unique_loops(nest: Nest, title: str, outside: Outside) -> None:
    seen: set[str] = set()
    for loop in nest.loops:
        if loop.name in seen:
            raise UserError(
                f"the schedule of {title} has two loops '{loop.name}'",
                where=loop.where,
            )
        seen.add(loop.name)


def _segments_cover(nest: Nest, title: str, outside: Outside) -> None:
    if not nest.segments:
        return
    name, position = nest.segments[0].axis, 0
    size = nest.left()[name]
    for segment in nest.segments:
        written = segment.written or segment.name
        if segment.axis != name:
            raise UserError(
                f"'{written}' of {title} is beside segments of '{name}'",
                notes=["adjacent segments are of one axis"],
                hints=[f"write '{written}' inside of a segment of '{name}'"],
            )
        if segment.start != position:
            raise UserError(
                f"'{written}' of {title} does not continue the split of '{name}' at {position}",
                notes=["segments follow each other and cover the axis"],
            )
        if segment.stop <= segment.start:
            raise UserError(
                f"'{segment.name}' of {title} is empty",
                notes=[f"'{name}' goes from 0 to {size}"],
                hints=["begin each segment after the one before, the first at 0"],
            )
        position = segment.stop
    if position != size:
        raise UserError(
            f"the split of '{name}' of {title} ends at {position}, not at {size}",
            notes=_already_divided(nest, name, size),
            hints=[f"add '{name}[{position}:]'"] if position < size else [],
        )


def _already_divided(nest: Nest, name: str, size: int) -> list[str]:
    """A note on the part of an axis that the enclosing loops leave, if it is not all."""
    if size == nest.space.size(name):
        return []
    return [f"the loops around leave {size} of {nest.space.size(name)} elements of '{name}'"]


def _tiles_shrink(nest: Nest, title: str, outside: Outside) -> None:
    covered = {axis.name: axis.size for axis in nest.axes}
    looped: set[str] = set()
    for loop in nest.loops:
        outer = covered[loop.axis]
        if loop.tile is None:
            _check_whole(nest, loop, title, outside, again=loop.axis in looped)
        elif loop.tile < 1:
            raise UserError(
                f"'{loop.name}' of {title} covers {loop.tile} elements; 1 at least",
                where=loop.where,
            )
        elif loop.tile > outer:
            error = UserError if loop.tile > nest.space.size(loop.axis) else IncompleteError
            raise error(
                f"'{loop.name}' of {title} covers {loop.tile} elements of {outer}: not a tile",
                hints=[f"choose a size from 1 to {outer}"],
                where=loop.where,
            )
        covered[loop.axis] = outer if loop.tile is None else loop.tile
        looped.add(loop.axis)


def _check_whole(nest: Nest, loop: NestLoop, title: str, outside: Outside, *, again: bool) -> None:
    if again:
        raise IncompleteError(
            f"the loop over all of '{loop.axis}' of {title} is inside a tile of it",
            hints=[f"put '{loop.axis}' before its tiles"],
            where=loop.where,
        )
    if loop.axis in outside.axes and nest.space.size(loop.axis) == 1:
        raise UserError(
            f"'{loop.name}' of {title} already has a loop outside the segment",
            hints=["omit it in the segment, or outside of it"],
            where=loop.where,
        )


def _vectors_innermost(nest: Nest, title: str, outside: Outside) -> None:
    elements = 1
    vectorized: dict[str, NestLoop] = {}
    for position, extent in enumerate(nest.extents()):
        loop = extent.loop
        if not loop.vectorize:
            continue
        _check_vector(nest, position, title)
        if loop.axis in vectorized:
            raise UserError(
                f"'{loop.name}' of {title} is inside '{vectorized[loop.axis].name}', "
                "which is vectorized as a whole",
                hints=[f"vectorize '{loop.name}' alone"],
                where=loop.where,
            )
        vectorized[loop.axis] = loop
        elements *= extent.size
    if elements > MAX_VECTOR:
        raise UserError(
            f"vectorized loops of {title} cover {elements} elements at once; {MAX_VECTOR} at most",
            hints=["strip-mine the axis to a few vector registers first, as in 'j#32'"],
        )
    _check_subscripts(nest, title, vectorized)
    _check_moved(nest, title, vectorized)
    _check_partial_sums(nest, title, vectorized)


def _check_vector(nest: Nest, position: int, title: str) -> None:
    loop = nest.loops[position]
    inner = [extent for extent in nest.extents()[position + 1 :] if not extent.loop.vectorize]
    inside = [extent.loop.name for extent in inner if extent.size > 1]
    inside += [segment.name for segment in nest.segments[:1]]
    if inside:
        raise IncompleteError(
            f"'{loop.name}' of {title} cannot be vectorized: '{inside[0]}' is inside it",
            hints=["interchange the loops so that vectorized ones are innermost"],
            where=loop.where,
        )
    for extent in inner:
        check_not_vectorized(extent.loop, loop, title)
    if loop.reassociate and not is_plain_reduction(nest, loop):
        raise UserError(
            f"'{loop.name}' of {title} reassociates vectors, but its axis is not reduced",
            hints=["vectorize it without reassociation"],
            where=loop.where,
        )
    axis = nest.space.axis(loop.axis)
    if is_plain_reduction(nest, loop) and not (loop.reassociate or (axis and axis.unordered)):
        raise UserError(
            f"'{loop.name}' of {title} cannot be vectorized: '{loop.axis}' is reduced",
            notes=["the sum's order would change"],
            hints=[
                "vectorize a parallel axis",
                f"or allow partial sums: vectorize(['{loop.name}'], reassociate=True)",
            ],
            where=loop.where,
        )


def _check_moved(nest: Nest, title: str, vectorized: dict[str, NestLoop]) -> None:
    """For data movement, vectorize the axes of neighbors in both the operand and the result."""
    missing = [axis for axis in nest.space.moved if axis not in vectorized]
    if vectorized and missing and nest.space.size(missing[0]) > 1:
        loop = next(iter(vectorized.values()))
        there, here = nest.space.moved
        raise IncompleteError(
            f"'{loop.name}' of {title} cannot be vectorized alone: neighbors along '{there}' "
            f"become neighbors along '{here}'",
            hints=[f"vectorize tiles of both: ['{there}', '{here}']"],
            where=loop.where,
        )


def _check_partial_sums(nest: Nest, title: str, vectorized: dict[str, NestLoop]) -> None:
    """Vectors of partial sums are over a single reduction dimension."""
    reduced = [loop for loop in vectorized.values() if is_plain_reduction(nest, loop)]
    if len(reduced) > 1:
        raise UserError(
            f"'{reduced[0].name}' and '{reduced[1].name}' of {title} are both reduced: vectors of "
            "partial sums are over one axis",
            hints=["vectorize one of them"],
            where=reduced[1].where,
        )


def _check_subscripts(nest: Nest, title: str, vectorized: dict[str, NestLoop]) -> None:
    """A vector is contiguous: its axis alone, with stride one, forms the index."""
    for subscript in nest.space.subscripts:
        terms = [(axis, factor) for axis, factor in subscript if axis in vectorized]
        if not terms or (len(terms) == 1 and terms[0][1] == 1):
            continue
        index = " + ".join(
            axis if factor == 1 else f"{axis} * {factor}" for axis, factor in subscript
        )
        loop = vectorized[terms[0][0]]
        raise UserError(
            f"'{loop.name}' of {title} cannot be vectorized: an operand is indexed by {index}",
            notes=["its elements are not neighbors"],
            hints=["vectorize an axis that indexes every operand alone"],
            where=loop.where,
        )


def _parallel_outermost(nest: Nest, title: str, outside: Outside) -> None:
    for level, group in enumerate(parallel_groups(nest)):
        for loop in group:
            if _is_reduction(nest, loop):
                raise UserError(
                    f"'{loop.name}' of {title} cannot be parallelized: '{loop.axis}' is reduced",
                    notes=["threads would add to one element at the same time"],
                    hints=["parallelize an axis of the result"],
                    where=loop.where,
                )
            _check_level(nest, loop, level, title, outside)
            if loop.vectorize or loop.unroll:
                raise UserError(
                    f"'{loop.name}' of {title} is parallel and vectorized or unrolled",
                    where=loop.where,
                )
        _check_together(nest, group, title)


def _check_level(nest: Nest, loop: NestLoop, level: int, title: str, outside: Outside) -> None:
    """On machines with blocks of threads, parallel loops are outermost, with two levels.

    On machines with plain threads, these share the outermost parallel loop; inner ones are
    sequential.
    """
    levels = nest.space.levels
    if levels == 1:
        return
    before = nest.extents()[: nest.loops.index(loop)]
    around = [extent.loop for extent in before if not extent.loop.parallelize and extent.trips > 1]
    around += [outside.loop] if outside.loop else []
    if level < levels and not outside.loop and (level or not around):
        return
    hint = "interchange the loops so that parallel ones are outermost"
    if level:
        hint = "two levels at most: blocks, and the threads of each"
    raise IncompleteError(
        f"'{loop.name}' of {title} cannot be parallelized inside "
        f"'{around[0].name if around else loop.axis}'",
        hints=[hint],
        where=loop.where,
    )


def _check_together(nest: Nest, group: tuple[NestLoop, ...], title: str) -> None:
    """Check loops that are collapsed into one parallel loop."""
    for loop in group[:-1]:
        if loop.pack or loop.fuse or loop.buffer or loop.external:
            raise IncompleteError(
                f"'{loop.name}' and '{group[-1].name}' of {title} run as one parallel "
                "loop; nothing can be put between them",
                hints=[f"put it inside '{group[-1].name}'"],
                where=loop.where,
            )


def _unrolling_bounded(nest: Nest, title: str, outside: Outside) -> None:
    copies = 1
    for loop in nest.loops:
        if loop.unroll < 0:
            raise UserError(
                f"'{loop.name}' of {title} cannot be unrolled by {loop.unroll}", where=loop.where
            )
        copies *= max(1, loop.unroll)
    if copies > MAX_UNROLLED:
        raise IncompleteError(
            f"unrolling makes {copies} copies of {title}; {MAX_UNROLLED} at most",
            hints=["unroll fewer loops, or by smaller factors"],
        )


def _is_reduction(nest: Nest, loop: NestLoop) -> bool:
    axis = nest.space.axis(loop.axis)
    return axis is not None and axis.reduction


def _consumed_complete(nest: Nest, title: str, outside: Outside) -> None:
    """The result's tile in a loop is complete if no enclosing loop is a reduction."""
    around = [extent.loop for extent in nest.extents() if extent.trips > 1]
    for loop in nest.loops:
        before = nest.loops[: nest.loops.index(loop) + 1]
        partial = [other for other in around if other in before and _is_reduction(nest, other)]
        if loop.consumer and (partial or outside.loop):
            inner = partial[0].name if partial else nest.loops[0].name
            raise IncompleteError(
                f"the consumer of {title} cannot be fused at '{loop.name}': its tile is not "
                f"complete inside '{inner}'",
                hints=["name a loop outside of all reductions and segments"],
                where=loop.where,
            )


_RULES: tuple[Callable[[Nest, str, Outside], None], ...] = (
    _known_axes,
    _unique_loops,
    _segments_cover,
    _tiles_shrink,
    _vectors_innermost,
    _parallel_outermost,
    _unrolling_bounded,
    _consumed_complete,
)
