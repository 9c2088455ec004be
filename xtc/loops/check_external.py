# SPDX-License-Identifier: Apache-2.0
"""Legality of external functions that replace the loops inside a loop."""

from __future__ import annotations

from xtc.core.errors import UserError
from xtc.loops.incomplete import IncompleteError
from xtc.loops.nest import Nest, NestLoop, annotations_of


def check_external(nest: Nest, title: str) -> None:
    """Raise UserError unless each function replaces one or more plain loops of one nest."""
    for part in nest.walk():
        for position, loop in enumerate(part.loops):
            if loop.external is not None:
                _check(part, position, loop, title)


def _check(nest: Nest, position: int, loop: NestLoop, title: str) -> None:
    name = f"'{loop.name}' of {title}"
    if loop.vectorize or loop.distribute or loop.shard:
        raise UserError(
            f"{name} calls a function and is vectorized or distributed", where=loop.where
        )
    if nest.segments:
        raise IncompleteError(
            f"{name} calls a function, but '{nest.segments[0].name}' is inside it",
            hints=["call it in a loop of each segment"],
            where=loop.where,
        )
    if position + 1 == len(nest.loops) and not (loop.external and loop.external.axes):
        raise IncompleteError(
            f"{name} calls a function, but no loop is inside it to be replaced",
            hints=["name the loop around its tile"],
            where=loop.where,
        )
    for inner in nest.loops[position + 1 :]:
        annotations = annotations_of(inner)
        if annotations:
            raise IncompleteError(
                f"'{inner.name}' of {title} is inside '{loop.name}', which calls a function: "
                f"it cannot have {annotations[0]}",
                hints=[f"the function replaces all loops inside '{loop.name}'"],
                where=inner.where or loop.where,
            )
