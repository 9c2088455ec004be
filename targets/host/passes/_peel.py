# SPDX-License-Identifier: Apache-2.0
"""Splits a nest into its first loops and the nest that is left in one of their iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xtc.core.errors import UserError
from xtc.loops import Nest, NestLoop, check_nest
from xtc.loops.nest import words_of


def leading(nest: Nest) -> tuple[NestLoop, ...]:
    """The first loops, each over all of an axis of the result.

    Where the outermost is shared by threads, those that are shared with it; else plain loops. All
    but the last have whole tiles only, and buffers and fused operands are inside of the last alone.
    Loops between that run once, without more, are left where they are.
    """
    found: list[NestLoop] = []
    for extent in nest.extents():
        loop = extent.loop
        axis = nest.space.axis(loop.axis)
        if extent.trips == 1 and not words_of(loop):
            continue
        if axis is None or axis.reduction or loop.tile is not None or extent.trips == 1:
            break
        if loop.unroll or loop.vectorize or loop.distribute or loop.spread or loop.external:
            break
        if found and loop.parallelize != found[0].parallelize:
            break
        found.append(loop)
        if extent.size % extent.step or loop.pack or loop.fuse or loop.buffer:
            break
    # What computes a fused operand is looked for beside the operation.
    inner = any(loop.fuse for loop in nest.loops if loop not in found)
    return () if inner or nest.segments else tuple(found)


def inside(nest: Nest, peeled: Sequence[NestLoop], sizes: Mapping[str, int]) -> Nest | None:
    """The nest without these loops, for axes with fewer elements left.

    A tile that is now all of its axis becomes the loop over it. None where the rest is not legal.
    """
    space = nest.space.resized(lambda axis: sizes[axis.name])
    kept: list[NestLoop] = []
    for loop in nest.loops:
        if loop in peeled or (sizes[loop.axis] == 1 and loop.external is None):
            continue
        if loop.tile is not None and loop.tile >= sizes[loop.axis]:
            kept = [other for other in kept if other != NestLoop(loop.axis)]
            loop = replace(loop, tile=None, name=loop.axis)
        kept.append(loop)
    left = _fewer_copies(Nest(space, tuple(kept)).fitted(space))
    try:
        check_nest(left, "")
    except UserError:
        return None
    return left


def _fewer_copies(nest: Nest) -> Nest:
    """No loop is unrolled by more than it runs."""
    loops = []
    for extent in nest.extents():
        factor = min(extent.loop.unroll, extent.trips)
        loops.append(replace(extent.loop, unroll=factor if factor > 1 else 0))
    return replace(nest, loops=tuple(loops))
