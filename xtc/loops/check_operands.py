# SPDX-License-Identifier: Apache-2.0
"""Legality of packing, fusing and buffering operands in a loop nest."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.core.errors import UserError, located
from xtc.loops.incomplete import IncompleteError
from xtc.loops.nest import Nest, NestLoop, Space

Boundaries = Mapping[int, tuple[str, str]]
"""For each operand, the annotation applied at an outer loop, and the loop: `{1: ("pack", "i")}`."""


def check_operands(nest: Nest, title: str, outer: Boundaries | None = None) -> None:
    """Raise UserError if an operand does not exist, or was already handled at an outer loop.

    `outer` describes the loops around a segment, for the recursion.
    """
    bound = dict(outer or {})
    for extent in nest.extents():
        loop = extent.loop
        _check_numbers(nest, loop, title)
        check_not_vectorized(loop, loop, title)
        for operand in loop.fuse:
            _check_fuse(loop, operand, title, bound)
            bound[operand] = ("fuse", loop.name)
        for operand in loop.pack:
            bound[operand] = ("pack", loop.name)
    for segment in nest.segments:
        check_operands(segment.nest, title, bound)


def check_number(space: Space, operand: int, annotation: str, loop: str, title: str) -> None:
    """Raise UserError unless the operation reads an operand of this number."""
    if not 0 <= operand < space.operands:
        raise UserError(
            f"{annotation} at '{loop}': {title} has no operand {operand}",
            notes=[f"it reads {space.operands} operands, counted from 0"],
        )


def _check_numbers(nest: Nest, loop: NestLoop, title: str) -> None:
    for annotation, operands in (("pack", loop.pack), ("fuse", loop.fuse)):
        for operand in operands:
            with located(loop.where):
                check_number(nest.space, operand, annotation, loop.name, title)
        if len(set(operands)) < len(operands):
            raise UserError(
                f"{annotation} at '{loop.name}' of {title} names an operand twice",
                where=loop.where,
            )


def check_not_vectorized(loop: NestLoop, vector: NestLoop, title: str) -> None:
    """Raise UserError for insertions into a loop that is vectorized or inside a vectorized one."""
    if vector.vectorize and (loop.pack or loop.fuse or loop.buffer or loop.shard or loop.consumer):
        raise UserError(
            f"'{vector.name}' of {title} is vectorized; nothing can be put inside it",
            hints=["use the loop around it"],
            where=loop.where,
        )


def _check_fuse(loop: NestLoop, operand: int, title: str, bound: Boundaries) -> None:
    if operand in bound:
        annotation, name = bound[operand]
        raise IncompleteError(
            f"fuse at '{loop.name}': operand {operand} of {title} is computed before '{loop.name}' "
            f"is reached, by its {annotation} at '{name}'",
            hints=[f"omit one of the two, or fuse at '{name}' or outside of it"],
            where=loop.where,
        )
