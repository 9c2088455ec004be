# SPDX-License-Identifier: Apache-2.0
"""A border around a tensor, what pad adds and unpad takes away: `(before, after)` per dimension."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.core.errors import UserError, shown
from xtc.core.types import TensorType
from xtc.ops.attributes import check_ints, check_pair

Border = tuple[tuple[int, int], ...]


def border_of(op: str, padding: object, type: TensorType) -> Border:
    """What a user wrote, one entry per dimension, each a pair or one number for both ends."""
    return tuple(
        check_pair(op, f"padding[{position}]", entry, minimum=0)
        for position, entry in enumerate(_entries(op, padding, type))
    )


def check_border(op: str, border: object, type: TensorType) -> None:
    """Raise UserError unless `border` fits `type` and leaves a symbolic dimension alone."""
    for position, entry in enumerate(_entries(op, border, type)):
        pair = check_ints(op, f"padding[{position}]", entry, count=2, minimum=0)
        dim = type.shape[position]
        if isinstance(dim, str) and any(pair):
            raise UserError(
                f"padding[{position}] of {op} is {pair}, but dimension '{dim}' is symbolic",
                hints=["write (0, 0) for it"],
            )


def _entries(op: str, padding: object, type: TensorType) -> Sequence[object]:
    if isinstance(padding, str | bytes) or not isinstance(padding, Sequence):
        entry = (padding, padding) if isinstance(padding, int) else (0, 0)
        raise UserError(
            f"padding of {op} is {shown(padding)}, not one (before, after) for each dimension",
            hints=[f"padding={shown((entry,) * type.rank)}"],
        )
    if len(padding) != type.rank:
        raise UserError(
            f"padding of {op} has {len(padding)} entries, but the operand has rank {type.rank}"
        )
    return padding
