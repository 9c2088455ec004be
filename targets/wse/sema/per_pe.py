# SPDX-License-Identifier: Apache-2.0
"""Stores parameters that differ on many PEs in memory, instead of compiling a class per value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.declarations import Tile
from xtc_targets.wse.sema.values import Const, Value, key_of

MANY_CLASSES = 200
"""The number of classes of a file up to which every set of values is compiled separately, as by the
vendor's compiler."""
MANY_VALUES = 16

AS_DATA = Const(t.Simple("data of each PE"), None)
"""The placeholder for a parameter's value in a class whose PEs have it in memory."""


def candidates(tiles: Iterable[Tile]) -> dict[Path, tuple[str, ...]]:
    """Integer parameters with many values, by file, for files with many classes."""
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
    """A key that is equal for PEs of the same class."""
    params = tuple((n, key_of(v)) for n, v in tile.params.items() if n not in as_data)
    return tile.path, params, as_data


def class_params(tile: Tile, as_data: tuple[str, ...]) -> dict[str, Value]:
    """The parameters with which a class is compiled."""
    return {name: AS_DATA if name in as_data else value for name, value in tile.params.items()}
