# SPDX-License-Identifier: Apache-2.0
"""Tiles whose elements are replicated in several threads, each of which loads them.

A store writes the values of the first of these threads. The others may load an element later and
get another value, which is correct if no result depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.mlir import Operation, Value
from xtc.ir.tile_dialect import known_layout, layout_of

Array = np.ndarray[Any, Any]

_IN_THREADS = (
    *("tile.view", "tile.reshape", "tile.transpose", "tile.annotate_layout", "tile.broadcast"),
    *("tile.item", "scf.yield", "scf.for", "scf.while", "scf.condition"),
)
"""Operations whose result in a thread depends only on operands in that thread."""

_ELEMENTWISE = ("arith.", "math.", "tensor.splat")

_BETWEEN = ("tile.reduce", "tile.scan", "tile.convert_layout")
"""Operations whose result in a thread depends on other threads: on the first of each set of
replicas."""

_STORES = ("tile.store_global", "tile.store_shared", "tile.store_scatter")

_BY_FIRST = ("tile.printf",)
"""Operations that only the first replica executes."""


def all_replicas_count(load: Operation, threads: int) -> bool:
    """Whether a result may depend on another thread than the first replica."""
    first = _first(known_layout(load.results[0]), threads)
    if first.all():
        return False
    return any(_counts(value, use, first) for value, use in _uses(load.results[0]))


def stores_from(load: Operation) -> list[Operation]:
    """The stores whose values or places depend on what an operation loads."""
    return [use.owner for _, use in _uses(load.results[0]) if use.owner.name in _STORES]


def _uses(value: Value) -> Iterator[tuple[Value, Any]]:
    """The uses of a value, and of those that depend on it."""
    known: set[Value] = set()
    left = [value]
    while left:
        value = left.pop()
        if value in known:
            continue
        known.add(value)
        for use in value.uses:
            yield value, use
            if use.owner.name not in _STORES:
                left += _made(use.owner)


def _counts(value: Value, use: Any, first: Array) -> bool:
    """Whether a use depends on the value in other threads than these."""
    op = use.owner
    if op.name not in _STORES and op.name not in _BETWEEN:
        return not op.name.startswith(_ELEMENTWISE) and op.name not in (*_IN_THREADS, *_BY_FIRST)
    if use.operand_number or layout_of(value) is None:
        return True
    return bool((_first(known_layout(value), len(first)) & ~first).any())


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
