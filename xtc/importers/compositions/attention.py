# SPDX-License-Identifier: Apache-2.0
"""Attention: head layouts, masks, and softmax of masked scores."""

from __future__ import annotations

import math

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, expanded
from xtc.importers.values import Unsupported


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Reshape (batch, positions, heads * size) to (batch, heads, positions, size)."""
    batch, positions, size = x.type.sizes
    if heads < 1 or size % heads:
        raise Unsupported(f"{heads} heads of {size} elements")
    shaped = O.reshape(x, (batch, positions, heads, size // heads))
    return O.transpose(shaped, axes=(0, 2, 1, 3))


def joined_heads(x: Tensor) -> Tensor:
    """Reshape (batch, heads, positions, size) to (batch, positions, heads * size)."""
    batch, heads, positions, size = x.type.sizes
    return O.reshape(O.transpose(x, axes=(0, 2, 1, 3)), (batch, positions, heads * size))


def repeated_heads(x: Tensor, times: int) -> Tensor:
    """Repeat each head of (batch, heads, positions, size) `times` times, copies adjacent."""
    if times == 1:
        return x
    batch, heads, *rest = x.type.sizes
    wide = expanded(O.reshape(x, (batch, heads, 1, *rest)), (batch, heads, times, *rest))
    return O.reshape(wide, (batch, heads * times, *rest))


def masked(scores: Tensor, mask: Tensor | None, *, is_causal: bool) -> Tensor:
    """Scores (..., queries, keys), -infinity for keys that a query must not attend to.

    A boolean `mask` is true for allowed keys; any other mask is added to the scores.
    """
    if is_causal:
        allowed = constant(np.tri(*scores.type.sizes[-2:], dtype=bool))
        scores = O.where(allowed, scores, -math.inf)
    if mask is None:
        return scores
    if mask.element.kind == "bool":
        return O.where(mask, scores, -math.inf)
    return O.add(scores, mask if mask.dtype == scores.dtype else O.cast(mask, scores.dtype))


def safe_softmax(scores: Tensor) -> Tensor:
    """Softmax of each row; zeros for a query that can attend to no key."""
    largest = O.reduce_max(scores, axes=(scores.type.rank - 1,), keepdims=True)
    return O.where(O.equal(largest, -math.inf), 0.0, O.softmax(scores, axis=-1))
