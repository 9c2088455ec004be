# SPDX-License-Identifier: Apache-2.0
"""Which loop nests are legal; every refusal names the loop, the reason and a way out."""

from __future__ import annotations

from collections.abc import Callable

from xtc.core.errors import UserError, did_you_mean
from xtc.core.loops.nest import Nest, NestLoop, axis_names

MAX_UNROLLED = 1024
"""Copies of one body; beyond that compile time explodes and instruction caches overflow."""
MAX_VECTOR = 4096
"""Elements of one vector operation, for the same reason."""
MAX_LOOPS = 64


def check_nest(nest: Nest, title: str) -> None:
    """Raise UserError unless `nest`, which has been completed, can be made of the operation."""
    if len(nest.loops) > MAX_LOOPS:
        raise UserError(f"the schedule of {title} has {len(nest.loops)} loops; at most {MAX_LOOPS}")
    for rule in _RULES:
        rule(nest, title)
    for segment in nest.segments:
        check_nest(segment.nest, title)


def _known_axes(nest: Nest, title: str) -> None:
    for loop in nest.loops:
        if nest.axis(loop.axis) is None:
            raise UserError(
                f"{title} has no axis '{loop.axis}'",
                hints=did_you_mean(loop.axis, axis_names(nest.axes)),
            )


def _unique_loops(nest: Nest, title: str) -> None:
    seen: set[str] = set()
    for loop in nest.loops:
        if loop.name in seen:
            raise UserError(f"the schedule of {title} has two loops '{loop.name}'")
        seen.add(loop.name)


def _tiles_shrink(nest: Nest, title: str) -> None:
    covered = {axis.name: axis.size for axis in nest.axes}
    whole: set[str] = set()
    for loop in nest.loops:
        outer = covered[loop.axis]
        if loop.tile is None:
            if loop.axis in whole:
                raise UserError(f"axis '{loop.axis}' of {title} has two loops over all of it")
            if covered[loop.axis] != _size(nest, loop.axis):
                raise UserError(
                    f"the loop over all of '{loop.axis}' of {title} is inside a tile of it",
                    hints=[f"put '{loop.axis}' before its tiles"],
                )
            whole.add(loop.axis)
            continue
        if loop.tile < 1:
            raise UserError(f"'{loop.name}' of {title} covers {loop.tile} elements; 1 at least")
        if loop.tile >= outer:
            raise UserError(
                f"'{loop.name}' of {title} covers {loop.tile} elements of {outer}, which is no tile",
                hints=[f"choose a size from 1 to {outer - 1}" if outer > 1 else "leave it away"],
            )
        covered[loop.axis] = loop.tile


def _size(nest: Nest, name: str) -> int:
    axis = nest.axis(name)
    return axis.size if axis else 0


def _vectors_innermost(nest: Nest, title: str) -> None:
    loops = nest.loops
    elements = 1
    for position, (loop, extent, step) in enumerate(nest.extents()):
        if not loop.vectorize:
            continue
        inner = next((one for one in loops[position + 1 :] if not one.vectorize), None)
        if inner is not None or nest.segments:
            inside = inner.name if inner else nest.segments[0].name
            raise UserError(
                f"'{loop.name}' of {title} cannot be vectorized: '{inside}' is inside it",
                hints=["interchange the loops so that vectorized ones are innermost"],
            )
        if _is_reduction(nest, loop):
            raise UserError(
                f"'{loop.name}' of {title} cannot be vectorized: '{loop.axis}' is reduced",
                notes=["the sum's order would change"],
                hints=["vectorize a parallel axis"],
            )
        if loop.unroll:
            raise UserError(f"'{loop.name}' of {title} is both vectorized and unrolled")
        if step == 1 and extent == 1:
            raise UserError(f"'{loop.name}' of {title} has one element; nothing to vectorize")
        elements *= extent
    if elements > MAX_VECTOR:
        raise UserError(
            f"vectorized loops of {title} cover {elements} elements at once; {MAX_VECTOR} at most",
            hints=["strip-mine the axis to a few vector registers first, as in 'j#32'"],
        )


def _parallel_outermost(nest: Nest, title: str) -> None:
    for position, loop in enumerate(nest.loops):
        if not loop.parallelize:
            continue
        if _is_reduction(nest, loop):
            raise UserError(
                f"'{loop.name}' of {title} cannot be parallelized: '{loop.axis}' is reduced",
                notes=["threads would add to one element at the same time"],
                hints=["parallelize an axis of the result"],
            )
        outer = next((one for one in nest.loops[:position] if not one.parallelize), None)
        if outer is not None:
            raise UserError(
                f"'{loop.name}' of {title} cannot be parallelized inside '{outer.name}'",
                hints=["interchange the loops so that parallel ones are outermost"],
            )
        if loop.vectorize or loop.unroll:
            raise UserError(f"'{loop.name}' of {title} is parallel and vectorized or unrolled")


def _unrolling_bounded(nest: Nest, title: str) -> None:
    copies = 1
    for loop, extent, step in nest.extents():
        if not loop.unroll:
            continue
        trips = -(-extent // step)
        if not 2 <= loop.unroll <= trips:
            raise UserError(
                f"'{loop.name}' of {title} cannot be unrolled by {loop.unroll}: it runs {trips} times",
                hints=[f"a factor from 2 to {trips}" if trips > 1 else "leave it away"],
            )
        copies *= loop.unroll
    if copies > MAX_UNROLLED:
        raise UserError(
            f"unrolling makes {copies} copies of {title}; {MAX_UNROLLED} at most",
            hints=["unroll fewer loops, or by smaller factors"],
        )


def _operands_exist(nest: Nest, title: str) -> None:
    for loop in nest.loops:
        for word, operands in (("pack", loop.pack), ("fuse", loop.fuse)):
            for operand in operands:
                if not 0 <= operand < nest.operands:
                    raise UserError(
                        f"{word} at '{loop.name}': {title} has no operand {operand}",
                        notes=[f"it reads {nest.operands} operands, counted from 0"],
                    )
        if loop.vectorize and (loop.pack or loop.fuse or loop.buffer):
            raise UserError(
                f"'{loop.name}' of {title} is vectorized; nothing can be put inside it",
                hints=["use the loop around it"],
            )


def _segments_cover(nest: Nest, title: str) -> None:
    if not nest.segments:
        return
    name = nest.segments[0].axis
    axis = nest.axis(name)
    if axis is None:
        raise UserError(
            f"{title} has no axis '{name}'", hints=did_you_mean(name, axis_names(nest.axes))
        )
    if any(loop.axis == name for loop in nest.loops):
        raise UserError(
            f"axis '{name}' of {title} is split after it was looped over",
            hints=["split it before any loop over it"],
        )
    position = 0
    for segment in nest.segments:
        if segment.axis != name or segment.start != position or segment.stop <= segment.start:
            raise UserError(
                f"'{segment.name}' of {title} does not continue the split of '{name}' at {position}",
                notes=["segments follow each other and cover the axis"],
            )
        position = segment.stop
    if position != axis.size:
        raise UserError(
            f"the split of '{name}' of {title} ends at {position}, not at {axis.size}",
            hints=["the last segment may be open: '" + name + "[" + str(position) + ":]'"],
        )
    if len(nest.segments) == 1:
        raise UserError(f"the split of '{name}' of {title} has one segment, which changes nothing")


def _is_reduction(nest: Nest, loop: NestLoop) -> bool:
    axis = nest.axis(loop.axis)
    return axis is not None and axis.reduction


_RULES: tuple[Callable[[Nest, str], None], ...] = (
    _known_axes,
    _unique_loops,
    _segments_cover,
    _tiles_shrink,
    _vectors_innermost,
    _parallel_outermost,
    _unrolling_bounded,
    _operands_exist,
)
