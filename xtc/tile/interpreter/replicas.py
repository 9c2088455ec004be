# SPDX-License-Identifier: Apache-2.0
"""Tiles whose elements are replicated in several threads, each of which loads them.

A store writes the values of the first of these threads. The others may load an element later and
get another value, which is correct if no result depends on them.
"""

from __future__ import annotations

import numpy as np

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.builders.tile import has_layout
from xtc.ir.mlir import Operation, Value
from xtc.ir.tile_dialect import known_layout
from xtc.tile.interpreter.elements import Array
from xtc.tile.interpreter.values import is_computed

_IN_THREADS = (
    *("tile.view", "tile.reshape", "tile.transpose", "tile.annotate_layout", "tile.broadcast"),
    *("tile.item", "scf.yield", "scf.for", "scf.while", "scf.condition"),
)
"""Operations whose result in a thread depends only on operands in that thread."""

_BETWEEN = ("tile.reduce", "tile.scan", "tile.convert_layout")
"""Operations whose result in a thread depends on other threads: on the first of each set of
replicas."""

_STORES = ("tile.store_global", "tile.store_shared", "tile.store_scatter")

_BY_FIRST = ("tile.printf",)
"""Operations that only the first replica executes."""


def all_replicas_count(load: Operation, threads: int) -> bool:
    """Whether a result may depend on another thread than the first replica."""
    first = _first(known_layout(load.results[0]), threads)
    known: set[Value] = set()
    left = [] if first.all() else [load.results[0]]
    while left:
        value = left.pop()
        if value in known:
            continue
        known.add(value)
        for use in value.uses:
            op = use.owner
            if op.name in _STORES or op.name in _BETWEEN:
                is_value = use.operand_number == 0 and has_layout(value)
                if not is_value or (_first(known_layout(value), threads) & ~first).any():
                    return True
            elif not is_computed(op) and op.name not in (*_IN_THREADS, *_BY_FIRST):
                return True
            if op.name not in _STORES:
                left += _made(op)
    return False


def _made(op: Operation) -> list[Value]:
    """The values that depend on an operand of an operation."""
    around = op.parent if op.name in ("scf.yield", "scf.condition") else op
    found = list(around.results)
    for region in around.regions:
        for block in region.blocks:
            found += block.arguments
    return found


def _first(layout: RegisterLayout, threads: int) -> Array:
    """A mask of the threads that are the first replica."""
    number = np.arange(threads)
    found = np.ones(threads, bool)
    for size, step in layout.replica_digits():
        found &= number // step % size == 0
    return found
