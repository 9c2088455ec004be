# SPDX-License-Identifier: Apache-2.0
"""Sorting and searching."""

from __future__ import annotations

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import part
from xtc.importers.torch.ops.arithmetic import common_type, operand
from xtc.importers.torch.ops.reduction import without
from xtc.importers.torch.table import writes
from xtc.importers.values import Unsupported


@writes("topk")
def topk(
    x: Tensor, k: int, dim: int = -1, largest: bool = True, ordered: bool = True
) -> tuple[Tensor, Tensor]:
    indices = O.topk(x, k, axis=dim, largest=largest)
    return O.gather_elements(x, indices, axis=dim), indices


@writes("sort")
def sort(x: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    return topk(x, x.type.sizes[dim], dim, descending)


@writes("sort.stable")
def stable_sort(
    x: Tensor, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[Tensor, Tensor]:
    """Every sort is stable here."""
    return sort(x, dim, descending)


@writes("kthvalue")
def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    dim = dim % x.type.rank
    values, indices = (part(y, dim, k - 1, k) for y in topk(x, k, dim, largest=False))
    if keepdim:
        return values, indices
    shape = without(x, (dim,))
    return O.reshape(values, shape), O.reshape(indices, shape)


@writes("bucketize.Tensor")
def bucketize(
    x: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    return searchsorted(boundaries, x, out_int32=out_int32, right=right)


@writes("searchsorted.Tensor")
def searchsorted(
    ordered: Tensor,
    x: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """The number of elements of each row below a value, by comparing all; NaN is the largest."""
    if sorter is not None:
        raise Unsupported("a sorter")
    dtype = common_type(ordered, x)
    wide = O.reshape(operand(x, dtype), (*x.type.sizes, 1))
    lead = ordered.type.sizes[:-1] or (1,) * x.type.rank
    rows = O.reshape(
        operand(ordered, dtype), (*lead, 1, ordered.type.sizes[-1])[-x.type.rank - 1 :]
    )
    after = O.greater if right or side == "right" else O.greater_equal
    below = O.logical_not(after(rows, wide))
    return O.reduce_sum(O.cast(below, "int32" if out_int32 else "int64"), axes=(x.type.rank,))
