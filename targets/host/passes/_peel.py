# SPDX-License-Identifier: Apache-2.0
"""Splits a loop nest into its first loops and the remaining nest inside of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xtc.core.errors import UserError
from xtc.loops import Nest, NestLoop, check_nest
from xtc.loops.nest import annotations_of


def leading(nest: Nest) -> tuple[NestLoop, ...]:
    """The first loops of a nest, each over a whole axis of the result.

    They are parallel loops if the outermost loop is parallel, or else plain loops. All but the last
    have only whole tiles, and buffers and fused operands are inside of the last. Plain loops of one
    iteration between them are ignored.
    """
    found: list[NestLoop] = []
    for extent in nest.extents():
        loop = extent.loop
        axis = nest.space.axis(loop.axis)
        if extent.trips == 1 and not annotations_of(loop):
            continue
        if axis is None or axis.reduction or loop.tile is not None or extent.trips == 1:
            break
        if loop.unroll or loop.vectorize or loop.distribute or loop.shard or loop.external:
            break
        if found and loop.parallelize != found[0].parallelize:
            break
        found.append(loop)
        if extent.size % extent.step or loop.pack or loop.fuse or loop.buffer:
            break
    # The producer of a fused operand must stay next to the operation.
    inner = any(loop.fuse for loop in nest.loops if loop not in found)
    return () if inner or nest.segments else tuple(found)


def inside(nest: Nest, peeled: Sequence[NestLoop], sizes: Mapping[str, int]) -> Nest | None:
    """The nest inside of these loops, for axes of the remaining sizes.

    A tile that covers its whole axis becomes the loop over the axis. None if the rest is not legal.
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
    """The nest with unroll factors of at most the number of iterations."""
    loops = []
    for extent in nest.extents():
        factor = min(extent.loop.unroll, extent.trips)
        loops.append(replace(extent.loop, unroll=factor if factor > 1 else 0))
    return replace(nest, loops=tuple(loops))
