# SPDX-License-Identifier: Apache-2.0
"""Where operands may be packed, fused and buffered in a loop nest."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.core.errors import UserError
from xtc.loops.nest import Nest, NestLoop

Places = Mapping[int, tuple[str, str]]
"""By operand, what was done to it further out and at which loop: `{1: ("pack", "i")}`."""


def check_operands(nest: Nest, title: str, outer: Places | None = None, trips: int = 1) -> None:
    """Raise UserError where an operand is not there, or was dealt with at an outer loop already.

    `outer` and `trips` tell what is around a segment; they are for the recursion.
    """
    places = dict(outer or {})
    for extent in nest.extents():
        trips *= extent.trips
        loop = extent.loop
        _check_numbers(nest, loop, title)
        _check_not_vectorized(loop, title)
        for operand in loop.fuse:
            _check_computed(nest, loop, operand, title)
            _check_fuse(loop, operand, title, places, trips)
            places[operand] = ("fuse", loop.name)
        for operand in loop.pack:
            places[operand] = ("pack", loop.name)
    for segment in nest.segments:
        check_operands(segment.nest, title, places, trips)


def _check_numbers(nest: Nest, loop: NestLoop, title: str) -> None:
    count = nest.space.operands
    for word, operands in (("pack", loop.pack), ("fuse", loop.fuse)):
        for operand in operands:
            if not 0 <= operand < count:
                raise UserError(
                    f"{word} at '{loop.name}': {title} has no operand {operand}",
                    notes=[f"it reads {count} operands, counted from 0"],
                    where=loop.where,
                )
        if len(set(operands)) < len(operands):
            raise UserError(
                f"{word} at '{loop.name}' of {title} names an operand twice",
                where=loop.where,
            )


def _check_not_vectorized(loop: NestLoop, title: str) -> None:
    if loop.vectorize and (loop.pack or loop.fuse or loop.buffer or loop.spread):
        raise UserError(
            f"'{loop.name}' of {title} is vectorized; nothing can be put inside it",
            hints=["use the loop around it"],
            where=loop.where,
        )


def _check_computed(nest: Nest, loop: NestLoop, operand: int, title: str) -> None:
    if operand not in nest.space.computed:
        raise UserError(
            f"fuse at '{loop.name}': operand {operand} of {title} is not computed by an operation "
            "that can be fused",
            notes=["it is an argument, a constant, or the result of moving data"],
            where=loop.where,
        )


def _check_fuse(loop: NestLoop, operand: int, title: str, places: Places, trips: int) -> None:
    if operand in places:
        word, name = places[operand]
        raise UserError(
            f"fuse at '{loop.name}': operand {operand} of {title} is computed before '{loop.name}' "
            f"is reached, by its {word} at '{name}'",
            hints=[f"leave out one of the two, or fuse at '{name}' or outside of it"],
            where=loop.where,
        )
    if trips == 1:
        raise UserError(
            f"fuse at '{loop.name}' of {title} changes nothing: '{loop.name}' runs once",
            hints=["fuse at a loop that repeats"],
            where=loop.where,
        )
