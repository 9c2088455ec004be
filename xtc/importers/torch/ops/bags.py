# SPDX-License-Identifier: Apache-2.0
"""Embedding bags: sums, means and maxima of table rows."""

from __future__ import annotations

from typing import Any

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, part
from xtc.importers.torch.table import OnlyFirst, writes

_SUM, _MEAN, _MAX = range(3)


@writes("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> list[Any]:
    """`offsets` are the starts of the bags in `indices`; `mode` 0 is sum, 1 mean, 2 maximum."""
    count = offsets.type.sizes[0]
    bags = _bags(indices, offsets)
    rows = O.gather(weight, indices, axis=0)
    if per_sample_weights is not None:
        rows = O.mul(rows, O.reshape(per_sample_weights, (-1, 1)))
    counted = O.reshape(O.not_equal(indices, padding_idx % weight.type.sizes[0]), (-1, 1))
    if padding_idx < 0:
        counted = O.equal(bags, bags)
    kind = weight.element.numpy
    neutral = -float("inf") if mode == _MAX else 0.0
    start = constant(np.full((count, weight.type.sizes[1]), neutral, kind))
    reduction = "max" if mode == _MAX else "add"
    total = O.scatter_nd(start, bags, O.where(counted, rows, neutral), reduction=reduction)
    if mode == _SUM:
        return _bags_of(total, include_last_offset)
    ones = O.cast(counted, weight.dtype)
    sizes = O.scatter_nd(constant(np.zeros((count, 1), kind)), bags, ones, reduction="add")
    if mode == _MEAN:
        return _bags_of(O.div(total, O.maximum(sizes, 1.0)), include_last_offset)
    return _bags_of(O.where(O.greater(sizes, 0.0), total, 0.0), include_last_offset)


def _bags_of(rows: Tensor, include_last_offset: bool) -> list[Any]:
    """Drop the last row if the last offset is only the end of the last bag."""
    return OnlyFirst([part(rows, 0, 0, rows.type.sizes[0] - 1) if include_last_offset else rows])


def _bags(indices: Tensor, offsets: Tensor) -> Tensor:
    """The bag of each index, (indices, 1)."""
    positions = constant(np.arange(indices.type.sizes[0], dtype=offsets.element.numpy)[:, None])
    begun = O.cast(O.less_equal(O.reshape(offsets, (1, -1)), positions), "int64")
    return O.sub(O.reduce_sum(begun, axes=(1,), keepdims=True), 1)
