# SPDX-License-Identifier: Apache-2.0
"""Indices of a tensor: numbers, and `:` for a whole dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from types import MappingProxyType
from typing import Any

from xtc.core.errors import UserError
from xtc.tile.values.runtime import Data, Scalar

_PARTS: Mapping[str, str] = MappingProxyType(
    {
        "global": "load_global(g, offsets=[...], shape=[...]) loads a part; or global_view(~g[i])",
        "shared": "its bounds are constants, s[0:16]; or s.slice(offsets=[...], "
        "slice_dims=[...], slice_shape=[...]), whose offsets may be run-time numbers",
        "register": "self.where changes a part; to take one, store it to a shared tensor first",
    }
)
"""How to get a part of a tensor, by the memory that it is in."""


_BY_TILES = (
    "an index is a number, as i[0].item(); atomic.global_scatter_add(g, dim=, indices=, values=, "
    "output=) of zeros returns the elements at the indices of a tile"
)


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


def parts(location: Any, sizes: Sequence[int]) -> tuple[Any, dict[int, tuple[int, int]]]:
    """A location in which parts of dimensions with constant bounds are whole dimensions, and the
    begin and the extent of these parts, by dimension."""
    given = list(location) if isinstance(location, tuple) else [location]
    found: dict[int, tuple[int, int]] = {}
    for dim, (each, size) in enumerate(zip(given, sizes, strict=False)):
        if isinstance(each, slice) and each != slice(None) and _is_constant(each):
            begin = 0 if each.start is None else int(each.start)
            found[dim] = (begin, (size if each.stop is None else int(each.stop)) - begin)
            given[dim] = slice(None)
    return tuple(given), found


def _is_constant(part: slice) -> bool:
    bounds = (part.start, part.stop)
    whole = all(each is None or isinstance(each, Integral) for each in bounds)
    return whole and part.step in (None, 1)


def _index(given: Any, tensor: Any) -> Any:
    if isinstance(given, slice):
        if given != slice(None):
            raise UserError(
                f"{tensor!r} is indexed by a part of a dimension",
                notes=["an index is a number, or ':' for a whole dimension"],
                hints=[_PARTS[getattr(tensor, "where", "register")]],
            )
        return None
    is_scalar = isinstance(given, Scalar) or (isinstance(given, Data) and not given.shape)
    if isinstance(given, bool) or not (isinstance(given, int) or is_scalar):
        raise UserError(
            f"{tensor!r} cannot be indexed by {given!r}",
            hints=[
                _BY_TILES if isinstance(given, Data) else "an integer, or ':' for a whole dimension"
            ],
        )
    return given
