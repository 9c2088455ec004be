# SPDX-License-Identifier: Apache-2.0
"""Merges chains of reshapes and transposes."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.rewriter import Rewriter
from xtc.ops.reshape import Reshape
from xtc.ops.transpose import Transpose


def producer(x: Tensor, kind: type[Operator]) -> Operator | None:
    """The operator that produces a tensor, if it is of that kind."""
    if x.producer is not None and isinstance(x.producer.op, kind):
        return x.producer.op
    return None


def join_reshapes(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Merge consecutive reshapes and remove identity reshapes."""
    if not isinstance(op, Reshape):
        return None
    (x,) = inputs
    sizes = op.infer(x.type).sizes
    if sizes == x.type.sizes and x.producer is not None:
        return x
    if x.producer is not None and isinstance(x.producer.op, Reshape):
        return rewriter.write(Reshape(sizes), *x.producer.inputs)
    return None


def join_transposes(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Merge consecutive transposes and remove identity transposes."""
    if not isinstance(op, Transpose):
        return None
    (x,) = inputs
    axes = axes_of(op, x)
    if axes == tuple(range(len(axes))) and x.producer is not None:
        return x
    inner = producer(x, Transpose)
    if inner is not None and x.producer is not None:
        (source,) = x.producer.inputs
        first = axes_of(inner, source)
        return rewriter.write(Transpose(tuple(first[axis] for axis in axes)), source)
    return None


def reshape_for_transpose(
    rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]
) -> Tensor | None:
    """Replace a transpose that only moves dimensions of size 1 by a reshape."""
    if not isinstance(op, Transpose):
        return None
    (x,) = inputs
    axes = axes_of(op, x)
    moved = [axis for axis in axes if x.type.sizes[axis] != 1]
    if moved == sorted(moved) and axes != tuple(range(len(axes))):
        return rewriter.write(Reshape(tuple(x.type.sizes[axis] for axis in axes)), x)
    return None


def axes_of(op: Operator, x: Tensor) -> tuple[int, ...]:
    """The permutation of a transpose."""
    axes = getattr(op, "axes", None)
    return tuple(reversed(range(x.type.rank))) if axes is None else tuple(axes)
