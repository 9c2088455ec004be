# SPDX-License-Identifier: Apache-2.0
"""Removes guards against values that cannot occur."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.polynomials import scalar
from xtc.importers.simplify.rewriter import Rewriter
from xtc.importers.simplify.shapes import producer
from xtc.ops.add import Add
from xtc.ops.equal import Equal
from xtc.ops.matmul import Matmul
from xtc.ops.mul import Mul
from xtc.ops.reduce_max import ReduceMax
from xtc.ops.reshape import Reshape
from xtc.ops.softmax import Softmax
from xtc.ops.where import Where

_MOVED = (Mul, Reshape)  # allowed between a matmul and its mask


def drop_guards(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Remove the guard that zeroes softmax rows of all -infinity, if no such row can occur.

    Scores are results of a matmul, so only a mask makes a whole row -infinity. A constant mask that
    leaves each row at least one key, or no mask, excludes this.
    """
    if not isinstance(op, Where):
        return None
    condition, zero, weights = inputs
    guard, softmax = condition.producer, producer(weights, Softmax)
    if scalar(zero) != 0 or guard is None or softmax is None or not isinstance(guard.op, Equal):
        return None
    largest, number = guard.inputs
    maximum = producer(largest, ReduceMax)
    if scalar(number) != -math.inf or largest.producer is None or maximum is None:
        return None
    (scores,) = largest.producer.inputs
    same = weights.producer is not None and weights.producer.inputs == (scores,)
    return weights if same and _has_open_rows(scores) else None


def _has_open_rows(scores: Tensor) -> bool:
    """Whether the masks leave at least one key in each row."""
    node = scores.producer
    if node is None:
        return False
    if isinstance(node.op, Where):
        condition, inside, outside = node.inputs
        if condition.const is None or scalar(outside) != -math.inf:
            return False
        return _open(np.asarray(condition.const)) and _has_open_rows(inside)
    if isinstance(node.op, Add):
        for mask, rest in (node.inputs, node.inputs[::-1]):
            if mask.const is not None:
                return _open(np.asarray(mask.const) > -math.inf) and _has_open_rows(rest)
        return False
    while node is not None and isinstance(node.op, _MOVED):
        tensors = [x for x in node.inputs if scalar(x) is None]
        node = tensors[0].producer if len(tensors) == 1 else None
    return node is not None and isinstance(node.op, Matmul)


def _open(allowed: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> bool:
    return bool(np.atleast_1d(allowed).any(axis=-1).all())
