# SPDX-License-Identifier: Apache-2.0
"""Indices of a tensor: numbers, and `:` for a whole dimension."""

from __future__ import annotations

from typing import Any

from xtc.core.errors import UserError
from xtc.tile.values.runtime import Data, Scalar


def indexed(location: Any, rank: int, tensor: Any) -> list[Any]:
    """The index of each dimension of a tensor; None for a whole dimension.

    Dimensions after the last index are whole. Raises UserError for anything but numbers and `:`,
    and for too many of them.
    """
    given = list(location) if isinstance(location, tuple) else [location]
    if len(given) > rank:
        raise UserError(
            f"{tensor!r} is indexed in {len(given)} dimensions",
            hints=["an index or ':' for each dimension"],
        )
    return [_index(each, tensor) for each in given] + [None] * (rank - len(given))


def _index(given: Any, tensor: Any) -> Any:
    if isinstance(given, slice):
        if given != slice(None):
            raise UserError(
                f"{tensor!r} is indexed by a part of a dimension",
                notes=["an index is a number, or ':' for a whole dimension"],
                hints=["load_global(tensor, offsets=[...], shape=[...]) loads a part"],
            )
        return None
    is_scalar = isinstance(given, Scalar) or (isinstance(given, Data) and not given.shape)
    if isinstance(given, bool) or not (isinstance(given, int) or is_scalar):
        raise UserError(
            f"{tensor!r} cannot be indexed by {given!r}",
            hints=["an integer, or ':' for a whole dimension"],
        )
    return given
