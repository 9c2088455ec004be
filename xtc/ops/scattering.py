# SPDX-License-Identifier: Apache-2.0
"""Shared by the scatters: elements written at computed positions, in order.

Positions may repeat, so updates are applied in the order of their rows: the last one wins, and sums
are computed in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from xtc.graph.operator import Array
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import widened
from xtc.ops.gathering import INDEX

REDUCTIONS = ("none", "add", "mul", "max", "min")
Target = Callable[[ScalarBuilder, Sequence[Scalar]], list[tuple[Scalar, int | None]]]

_COMBINE = {
    "add": ScalarBuilder.add,
    "mul": ScalarBuilder.mul,
    "max": ScalarBuilder.maximum,
    "min": ScalarBuilder.minimum,
}
_UFUNCS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def emit_scatter(
    builder: LinalgBuilder, x: Value, updates: Value, target: Target, reduction: str
) -> Value:
    """`x` with each element of `updates` stored at `target(body, place)`.

    The target is an int64 index for each dimension of x, with the dimension's size if the index may
    be out of range: negative indices count from the end, and elements with an out-of-range target
    are not stored.
    """

    def body(
        scalars: ScalarBuilder, position: Sequence[Scalar], current: Value
    ) -> tuple[Scalar, Sequence[Scalar]]:
        new = scalars.read(updates.ssa, updates.type, position)
        inside, indices = None, []
        for index, size in target(scalars, position):
            if size is not None:
                index, holds = _positive(scalars, index, size)
                inside = holds if inside is None else scalars.bits("and", inside, holds)
            indices.append(index)
        old = scalars.read(current.ssa, current.type, indices)
        stored = _combined(scalars, old, new, reduction)
        return (stored if inside is None else scalars.select(inside, stored, old)), indices

    return builder.update(x, updates.type.sizes, body)


def _positive(body: ScalarBuilder, index: Scalar, size: int) -> tuple[Scalar, Scalar]:
    """A non-negative index, clamped, and whether it was in range."""
    zero, count = body.constant(0, INDEX), body.constant(size, INDEX)
    negative = body.compare("lt", index, zero)
    counted = body.select(negative, body.add(index, count), index)
    holds = body.bits("and", body.compare("ge", counted, zero), body.compare("lt", counted, count))
    return body.clamp(counted, size), holds


def _combined(body: ScalarBuilder, old: Scalar, new: Scalar, reduction: str) -> Scalar:
    if reduction == "none":
        return new
    wide = [body.cast(x, x.element.accumulator) if x.element.is_float else x for x in (old, new)]
    return body.cast(_COMBINE[reduction](body, *wide), old.element)


def scattered(x: Array, updates: Array, indices: Sequence[Array], reduction: str) -> Array:
    """The NumPy reference; takes an index array of the shape of `updates` per dimension of x."""
    result = np.array(x)
    for position in np.ndindex(updates.shape):
        at = tuple(int(index[position]) for index in indices)
        if all(-size <= i < size for i, size in zip(at, x.shape, strict=True)):
            new = updates[position]
            if reduction != "none":
                new = _UFUNCS[reduction](widened(result[at]), widened(new))
            result[at] = new
    return result
