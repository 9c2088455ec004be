# SPDX-License-Identifier: Apache-2.0
"""Merges constant factors and addends, and folds them into the weights before them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.constants import constant
from xtc.importers.simplify.polynomials import factors
from xtc.importers.simplify.rewriter import Rewriter
from xtc.ops.add import Add
from xtc.ops.conv2d import Conv2d
from xtc.ops.div import Div
from xtc.ops.matmul import Matmul
from xtc.ops.mul import Mul

_ONE = 1e-7  # rounding error of a product of two float32 reciprocals


def _split(inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor] | None:
    """The computed and the constant operand, if there is one of each."""
    a, b = inputs
    if a.const is None and b.const is not None:
        return a, b
    if b.const is None and a.const is not None:
        return b, a
    return None


def join_sums(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Reassociate (x + a) + b to x + (a + b), and (x * a) * b to x * (a * b); a, b constant floats.

    The merged constant must not be larger than the larger of the two.
    """
    if not isinstance(op, Add | Mul) or not inputs[0].element.is_float:
        return None
    split = _split(inputs)
    if split is None:
        return None
    x, second = split
    node = x.producer
    if node is None or type(node.op) is not type(op) or rewriter.is_shared(x):
        return None
    inner = _split(node.inputs)
    if inner is None or inner[0].shape != x.shape:
        return None
    source, first = inner
    joined = rewriter.write(op, first, second)
    if joined.const is None or joined.const.size > max(first.type.size, second.type.size):
        return None
    return rewriter.write(op, source, joined)


def join_factors(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Merge successive scalar factors and divisors of a tensor into one factor."""
    number, tensors = product_of(op, inputs)
    if len(tensors) != 1 or (tensors[0] in inputs and not _is_one(number, tensors[0])):
        return None
    if tensors[0].shape != op.infer(*(x.type for x in inputs)).shape:
        return None
    return times(rewriter, tensors[0], number)


def product_of(op: Operator, inputs: Sequence[Tensor]) -> tuple[float, list[Tensor]]:
    """A product of floats as a scalar and the other factors; no factors if it is not a product."""
    if not isinstance(op, Mul | Div) or not inputs[0].element.is_float:
        return 1.0, []
    (a, xs), (b, ys) = (factors(x) for x in inputs)
    if isinstance(op, Div):
        if ys or not b:
            return 1.0, []
        b = 1 / b
    number = a * b
    return (number, [*xs, *ys]) if number and math.isfinite(number) else (1.0, [])


def _is_one(number: float, x: Tensor) -> bool:
    """Whether a factor of a computed tensor is 1 up to rounding and can be omitted."""
    return abs(number - 1) < _ONE and x.producer is not None


def times(rewriter: Rewriter, x: Tensor, number: float) -> Tensor:
    """`x` times a scalar; `x` itself if the scalar is 1 up to rounding."""
    if _is_one(number, x):
        return x
    value = np.asarray(number, x.element.numpy)
    return rewriter.write(Mul(), x, constant(value, [x]))


def scale_weights(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Fold a per-channel factor of a convolution or matmul into its weights.

    Also through an addition: (conv(x, w) + b) * f becomes conv(x, w * f) + b * f.
    """
    if isinstance(op, Div) and inputs[1].const is not None and inputs[0].element.is_float:
        with np.errstate(all="ignore"):
            x, factor = inputs[0], constant(np.reciprocal(inputs[1].const), inputs[1:])
    elif isinstance(op, Mul) and (split := _split(inputs)) is not None:
        x, factor = split
    else:
        return None
    node = x.producer
    if node is None or not x.element.is_float or not _last(factor, x) or rewriter.is_shared(x):
        return None
    if isinstance(node.op, Add):
        inner = _split(node.inputs)
        if inner is None or not _scalable(inner[0]) or inner[0].shape != x.shape:
            return None
        if rewriter.is_shared(inner[0]):
            return None
        scaled = rewriter.write(Mul(), inner[0], factor)
        return rewriter.write(Add(), scaled, rewriter.write(Mul(), inner[1], factor))
    if not _scalable(x):
        return None
    weights = node.inputs[1]
    by_row = isinstance(node.op, Matmul) and node.op.transpose_b
    flat = np.asarray(factor.const).reshape((-1, 1) if by_row else (1, -1))
    with np.errstate(all="ignore"):
        scaled_weights = constant(np.asarray(weights.const) * flat, [weights])
    return rewriter.write(node.op, node.inputs[0], scaled_weights)


def _scalable(x: Tensor) -> bool:
    node = x.producer
    if node is None or not isinstance(node.op, Conv2d | Matmul):
        return False
    return node.inputs[1].const is not None and node.inputs[0].const is None


def _last(factor: Tensor, x: Tensor) -> bool:
    """Whether a constant is a scalar, or a vector along the last dimension."""
    if factor.type.rank > x.type.rank:
        return False
    sizes = factor.type.sizes
    return factor.type.size == 1 or sizes[-1] == x.type.sizes[-1] == factor.type.size
