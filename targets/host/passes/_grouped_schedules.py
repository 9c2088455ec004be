# SPDX-License-Identifier: Apache-2.0
"""Schedules of contractions whose operands are interleaved or widened before the loops."""

from __future__ import annotations

from dataclasses import replace

from xtc.loops import Axis, Nest, NestLoop


def with_inner_loop(nest: Nest, group: NestLoop, panel: int) -> Nest:
    """The loop nest with an inner axis over the elements of `group`, and with a computed panel."""
    size = group.tile or 1
    names = nest.space.names
    inner = next(name for n in range(len(names) + 1) if (name := f"t{n or ''}") not in names)
    axes = [
        replace(axis, size=-(-axis.size // size), groups=()) if axis.name == group.axis else axis
        for axis in nest.space.axes
    ]
    axes.append(Axis(inner, size, reduction=True, groups=(size,)))
    kept = [_over_groups(loop, group.axis, size) for loop in nest.loops if loop != group]
    vector = NestLoop(inner, name=inner, vectorize=True)
    space = replace(nest.space, axes=tuple(axes))
    return computing(replace(nest, space=space, loops=(*kept, vector)), panel)


def _over_groups(loop: NestLoop, axis: str, size: int) -> NestLoop:
    if loop.axis != axis or loop.tile is None:
        return loop
    return replace(loop, tile=loop.tile // size, name=f"{axis}#{loop.tile // size}")


def computing(nest: Nest, operand: int) -> Nest:
    """The loop nest that computes an operand in the loop that packs it, instead of packing it.

    If that loop has one iteration, the operand is computed before all loops. Inner loops that pack
    the operand too pack the computed one.
    """
    loops = []
    is_computed = False
    for extent in nest.extents():
        loop = extent.loop
        if operand in loop.pack and not is_computed:
            is_computed = extent.trips > 1
            pack = tuple(packed for packed in loop.pack if packed != operand)
            fuse = (*loop.fuse, operand) if is_computed else loop.fuse
            loop = replace(loop, pack=pack, fuse=fuse)
        loops.append(loop)
    return replace(nest, loops=tuple(loops))
