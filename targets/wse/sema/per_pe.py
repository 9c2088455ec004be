# SPDX-License-Identifier: Apache-2.0
"""Parameters that differ on many PEs: data in their memory, not a tile class for each value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.declarations import Tile
from xtc_targets.wse.sema.values import Const, Value, key_of

MANY_CLASSES = 200
"""Of one file; below, every set of values is compiled for itself, as the vendor's compiler does."""
MANY_VALUES = 16

AS_DATA = Const(t.Simple("data of each PE"), None)
"""What stands for a parameter's value in the class of PEs that have it in their memory."""


def candidates(tiles: Iterable[Tile]) -> dict[Path, tuple[str, ...]]:
    """Integer parameters of many values, by the file of many classes that has them."""
    classes: dict[Path, set[object]] = defaultdict(set)
    values: dict[tuple[Path, str], set[int]] = defaultdict(set)
    for tile in tiles:
        classes[tile.path].add(class_key(tile, ()))
        for name, value in tile.params.items():
            if isinstance(value, Const) and t.is_integer(value.type):
                values[tile.path, name].add(value.value)
    found: dict[Path, tuple[str, ...]] = {}
    for (path, name), distinct in values.items():
        if len(classes[path]) > MANY_CLASSES and len(distinct) > MANY_VALUES:
            found[path] = (*found.get(path, ()), name)
    return found


def class_key(tile: Tile, as_data: tuple[str, ...]) -> object:
    """What PEs of one class have in common."""
    params = tuple((n, key_of(v)) for n, v in tile.params.items() if n not in as_data)
    return tile.path, params, as_data


def class_params(tile: Tile, as_data: tuple[str, ...]) -> dict[str, Value]:
    """The parameters that a class is compiled with."""
    return {name: AS_DATA if name in as_data else value for name, value in tile.params.items()}
