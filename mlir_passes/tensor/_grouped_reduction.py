# SPDX-License-Identifier: Apache-2.0
"""Schedules whose vectors hold several terms of a sum, which an instruction adds up."""

from __future__ import annotations

from dataclasses import replace

from xtc.core.errors import UserError
from xtc.loops import Axis, Nest, NestLoop
from xtc_passes.tensor._scheduled import Scheduled, place_of


def group_loops(nest: Nest) -> list[NestLoop]:
    """The loops whose vectors hold terms of a sum that is not made of such groups already."""
    return [loop for part in nest.walk() for loop in part.loops if _is_group(part, loop)]


def _is_group(nest: Nest, loop: NestLoop) -> bool:
    axis = nest.space.axis(loop.axis)
    return loop.vectorize and loop.tile is not None and axis is not None and axis.reduction


def refusal(one: Scheduled) -> UserError:
    """Why terms that vectors are to hold cannot be added up."""
    loop = group_loops(one.nest)[0]
    return UserError(
        f"'{loop.name}' of {one.title} cannot be vectorized: no instruction of what runs it adds "
        f"up {loop.tile} such products",
        where=place_of(one.op),
        hints=["vectorize a parallel axis alone"],
    )


def with_inner_loop(nest: Nest, group: NestLoop, panel: int) -> Nest:
    """The nest when the terms of `group` have an axis of their own, and the panel is computed."""
    terms = group.tile or 1
    names = nest.space.names
    inner = next(name for n in range(len(names) + 1) if (name := f"t{n or ''}") not in names)
    axes = [
        replace(axis, size=-(-axis.size // terms), groups=()) if axis.name == group.axis else axis
        for axis in nest.space.axes
    ]
    axes.append(Axis(inner, terms, reduction=True, groups=(terms,)))
    kept = [_in_words(loop, group.axis, terms) for loop in nest.loops if loop != group]
    vector = NestLoop(inner, name=inner, vectorize=True)
    space = replace(nest.space, axes=tuple(axes))
    return computing(replace(nest, space=space, loops=(*kept, vector)), panel)


def _in_words(loop: NestLoop, axis: str, terms: int) -> NestLoop:
    if loop.axis != axis or loop.tile is None:
        return loop
    return replace(loop, tile=loop.tile // terms, name=f"{axis}#{loop.tile // terms}")


def computing(nest: Nest, operand: int) -> Nest:
    """The operand is computed, in another layout or type, where it was to be packed.

    In a loop that runs once, that is before all loops.
    """
    loops = []
    for extent in nest.extents():
        loop = extent.loop
        if operand in loop.pack:
            pack = tuple(one for one in loop.pack if one != operand)
            fuse = (*loop.fuse, operand) if extent.trips > 1 else loop.fuse
            loop = replace(loop, pack=pack, fuse=fuse)
        loops.append(loop)
    return replace(nest, loops=tuple(loops))
