# SPDX-License-Identifier: Apache-2.0
"""Schedules whose vectors hold several iterations of K, for dot-product instructions."""

from __future__ import annotations

from xtc.core.errors import UserError
from xtc.loops import Nest, NestLoop
from xtc.loops.nest import is_plain_reduction
from xtc_passes.tensor._scheduled import Scheduled, location_of


def group_loops(nest: Nest) -> list[NestLoop]:
    """The vectorized loops over a reduction dimension, except those of a plain reduction."""
    return [loop for part in nest.walk() for loop in part.loops if _is_group(part, loop)]


def _is_group(nest: Nest, loop: NestLoop) -> bool:
    axis = nest.space.axis(loop.axis)
    is_reduced = axis is not None and axis.reduction and not is_plain_reduction(nest, loop)
    return loop.vectorize and loop.tile is not None and is_reduced


def refusal(entry: Scheduled) -> UserError:
    """The error for a reduction that vectors cannot hold in groups."""
    loop = group_loops(entry.nest)[0]
    return UserError(
        f"'{loop.name}' of {entry.title} cannot be vectorized: its target has no "
        f"instruction that adds {loop.tile} such products",
        where=location_of(entry.op),
        hints=["vectorize a parallel axis alone"],
    )
