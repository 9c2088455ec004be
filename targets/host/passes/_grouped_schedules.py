# SPDX-License-Identifier: Apache-2.0
"""Schedules of contractions on operands that were interleaved or widened before."""

from __future__ import annotations

from dataclasses import replace

from xtc.loops import Axis, Nest, NestLoop


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
            pack = tuple(packed for packed in loop.pack if packed != operand)
            fuse = (*loop.fuse, operand) if extent.trips > 1 else loop.fuse
            loop = replace(loop, pack=pack, fuse=fuse)
        loops.append(loop)
    return replace(nest, loops=tuple(loops))
