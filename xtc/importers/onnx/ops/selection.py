# SPDX-License-Identifier: Apache-2.0
"""Selections by values that must be known at import, because they determine result sizes."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.importers.compositions.movement import constant
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.table import reads
from xtc.importers.values import Array, Value


@reads("NonZero", 9, 13)
def nonzero(call: Call) -> Array:
    positions: Array = np.stack(np.nonzero(np.atleast_1d(call.static(0)))).astype(np.int64)
    return positions


@reads("Compress", 9, 11, 28)
def compress(call: Call) -> Value:
    """Select slices, or elements of the flat tensor if no axis is given, by a condition."""
    x, chosen = call.tensor(0), np.flatnonzero(call.static(1))
    if call.attribute("axis", None) is None:
        x, axis = O.reshape(x, (x.type.size,)), 0
    else:
        axis = call.axis()
    if not len(chosen):
        shape = list(x.type.sizes)
        shape[axis] = 0
        return np.empty(shape, x.element.numpy)
    return O.gather(x, constant(chosen.astype(np.int64)), axis=axis)


@reads("Unique", 11, 28)
def unique(call: Call) -> tuple[Array, ...]:
    """Unique values, their first indices, inverse indices and counts, sorted or in input order."""
    axis = call.attribute("axis", None)
    x = call.static(0)
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    order = np.argsort(first) if not call.attribute("sorted", 1) else np.arange(len(first))
    places = np.argsort(order)[inverse.reshape(-1)]
    chosen = np.take(values, order, axis=0 if axis is None else axis)
    numbers = (first[order], places, counts[order])
    return chosen, *(column.astype(np.int64) for column in numbers)
