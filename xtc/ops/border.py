# SPDX-License-Identifier: Apache-2.0
"""Borders of tensors, which pad adds and unpad removes: `(before, after)` per dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xtc.core.errors import UserError, shown
from xtc.core.types import TensorType
from xtc.ops.attributes import check_axis, check_ints, check_pair

Border = tuple[tuple[int, int], ...]


def border_of(op: str, padding: object, type: TensorType) -> Border:
    """The border from a user's `padding`: an entry per dimension, one number, or a mapping.

    An entry is a pair or one number for both ends. A mapping has dimensions as keys, negative ones
    counted from the end; the others have no border.
    """
    if isinstance(padding, int | np.integer) and not isinstance(padding, bool):
        padding = (padding,) * type.rank
    elif isinstance(padding, Mapping):
        padding = _by_dimension(op, padding, type.rank)
    return tuple(
        check_pair(op, f"padding[{position}]", entry, minimum=0)
        for position, entry in enumerate(_entries(op, padding, type))
    )


def _by_dimension(op: str, padding: Mapping[object, object], rank: int) -> list[object]:
    """The entries of all dimensions, from a mapping. Raises UserError for bad or repeated keys."""
    entries: dict[int, object] = {}
    for key, entry in padding.items():
        axis = check_axis(op, "a key of padding", key, rank) % rank
        if axis in entries:
            raise UserError(f"padding of {op} names dimension {axis} twice")
        entries[axis] = entry
    return [entries.get(position, (0, 0)) for position in range(rank)]


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
        raise UserError(
            f"padding of {op} is {shown(padding)}, not one (before, after) for each dimension",
            hints=[f"padding={shown(((0, 0),) * type.rank)}, a number for all, or {{1: (0, 2)}}"],
        )
    if len(padding) != type.rank:
        raise UserError(
            f"padding of {op} has {len(padding)} entries, but the operand has rank {type.rank}"
        )
    return padding
