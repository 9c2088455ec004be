# SPDX-License-Identifier: Apache-2.0
"""Python's operators on tensors: `a + 1`, `a @ b`, `a[0, 2:, None]`."""

from __future__ import annotations

import numpy as np

from xtc.core.errors import UserError, shown
from xtc.graph.tensor import Tensor
from xtc.ops.add import add
from xtc.ops.attributes import user_function
from xtc.ops.div import div
from xtc.ops.matmul import matmul
from xtc.ops.mul import mul
from xtc.ops.neg import neg
from xtc.ops.reshape import reshape
from xtc.ops.slice import slice as slice_op
from xtc.ops.sub import sub
from xtc.ops.transpose import transpose


@user_function
def index(x: Tensor, key: object) -> Tensor:
    """`x[place]` with integers, slices of positive step, None for a new dimension, and `...`."""
    entries = key if isinstance(key, tuple) else (key,)
    entries = _without_dots(entries, x.type.rank)
    parts = [entry for entry in entries if entry is not None]
    if len(parts) > x.type.rank:
        raise UserError(f"{len(parts)} indices of a tensor of rank {x.type.rank}")
    parts += [slice(None)] * (x.type.rank - len(parts))
    bounds = [_bounds(entry, size) for entry, size in zip(parts, x.type.sizes, strict=True)]
    part = slice_op(x, *map(list, zip(*bounds, strict=True))) if bounds else x
    sizes = iter(zip(part.type.sizes, parts, strict=True))
    shape: list[int] = []
    for entry in entries:
        if entry is None:
            shape.append(1)
        else:
            shape += _kept(*next(sizes))
    shape += [size for rest in sizes for size in _kept(*rest)]
    return reshape(part, tuple(shape)) if tuple(shape) != part.type.sizes else part


def _without_dots(entries: tuple[object, ...], rank: int) -> tuple[object, ...]:
    dots = [n for n, entry in enumerate(entries) if entry is Ellipsis]
    if not dots:
        return entries
    if len(dots) > 1:
        raise UserError("an index has '...' twice")
    given = sum(entry is not None for entry in entries) - 1
    fill = (slice(None),) * max(rank - given, 0)
    return (*entries[: dots[0]], *fill, *entries[dots[0] + 1 :])


def _bounds(entry: object, size: int) -> tuple[int | None, int | None, int | None]:
    if isinstance(entry, slice):
        return entry.start, entry.stop, entry.step
    if isinstance(entry, bool) or not isinstance(entry, int | np.integer):
        raise UserError(
            f"{shown(entry)} is not an index of a tensor",
            hints=["O.gather(x, indices) takes a tensor of indices"],
        )
    if not -size <= entry < size:
        raise UserError(f"index {entry} of a dimension of size {size}")
    start = int(entry) % size
    return start, start + 1, 1


def _kept(size: int, entry: object) -> list[int]:
    return [size] if isinstance(entry, slice) else []


Tensor.OPERATORS.update(
    {
        "add": add,
        "sub": sub,
        "mul": mul,
        "div": div,
        "matmul": matmul,
        "neg": neg,
        "index": index,
        "transpose": transpose,
    }
)
