# SPDX-License-Identifier: Apache-2.0
"""Tiles of which several threads hold the same elements, and load them each for itself.

A store writes what the first of these threads has. The others may load an element after that, and
have another value: that is no mistake where no result comes from them.
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
"""Operations by which a thread has a result of what it holds itself."""

_BETWEEN = ("tile.reduce", "tile.scan", "tile.convert_layout")
"""Operations by which threads have results of what others hold, the first of those that hold the
same."""

_STORES = ("tile.store_global", "tile.store_shared", "tile.store_scatter")

_BY_FIRST = ("tile.printf",)
"""Operations that the first thread does."""


def all_replicas_count(load: Operation, threads: int) -> bool:
    """Whether a result may come from another thread than the first of those that load the same."""
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
    """What comes from a value that an operation takes."""
    around = op.parent if op.name in ("scf.yield", "scf.condition") else op
    found = list(around.results)
    for region in around.regions:
        for block in region.blocks:
            found += block.arguments
    return found


def _first(layout: RegisterLayout, threads: int) -> Array:
    """Which threads are the first of those that hold the same."""
    number = np.arange(threads)
    found = np.ones(threads, bool)
    for size, step in layout.replica_digits():
        found &= number // step % size == 0
    return found
