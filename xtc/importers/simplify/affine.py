# SPDX-License-Identifier: Apache-2.0
"""Factors and summands that are constants: joined, and taken into the weights before them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.constants import constant
from xtc.importers.simplify.rewriter import Rewriter
from xtc.ops.add import Add
from xtc.ops.conv2d import Conv2d
from xtc.ops.matmul import Matmul
from xtc.ops.mul import Mul


def _split(inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor] | None:
    """The computed operand and the constant one, of two."""
    a, b = inputs
    if a.const is None and b.const is not None:
        return a, b
    if b.const is None and a.const is not None:
        return b, a
    return None


def join_sums(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """(x + a) + b is x + (a + b), and (x * a) * b is x * (a * b), for constants a and b of floats.

    Where one of them is as large as the other and a scalar or a vector.
    """
    if not isinstance(op, Add | Mul) or not inputs[0].element.is_float:
        return None
    split = _split(inputs)
    if split is None:
        return None
    x, second = split
    node = x.producer
    if node is None or type(node.op) is not type(op) or rewriter.uses.get(x, 1) > 1:
        return None
    inner = _split(node.inputs)
    if inner is None or inner[0].shape != x.shape:
        return None
    source, first = inner
    joined = rewriter.write(op, first, second)
    if joined.const is None or joined.const.size > max(first.type.size, second.type.size):
        return None
    return rewriter.write(op, source, joined)


def scale_weights(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """A factor for each channel of a convolution or product goes into its weights.

    Through a summand as well: (conv(x, w) + b) * f is conv(x, w * f) + b * f.
    """
    if not isinstance(op, Mul):
        return None
    split = _split(inputs)
    if split is None:
        return None
    x, factor = split
    node = x.producer
    if node is None or not x.element.is_float or not _last(factor, x):
        return None
    if isinstance(node.op, Add):
        inner = _split(node.inputs)
        if inner is None or not _scalable(inner[0]) or inner[0].shape != x.shape:
            return None
        scaled = rewriter.write(Mul(), inner[0], factor)
        return rewriter.write(Add(), scaled, rewriter.write(Mul(), inner[1], factor))
    if not _scalable(x):
        return None
    weights = node.inputs[1]
    by_row = isinstance(node.op, Matmul) and node.op.transpose_b
    flat = np.asarray(factor.const).reshape((-1, 1) if by_row else (1, -1))
    scaled_weights = constant(np.asarray(weights.const) * flat, [weights])
    return rewriter.write(node.op, node.inputs[0], scaled_weights)


def _scalable(x: Tensor) -> bool:
    node = x.producer
    if node is None or not isinstance(node.op, Conv2d | Matmul):
        return False
    return node.inputs[1].const is not None and node.inputs[0].const is None


def _last(factor: Tensor, x: Tensor) -> bool:
    """Whether a constant is one number, or one for each element of the last dimension."""
    if factor.type.size == 1:
        return factor.type.rank <= x.type.rank
    sizes = factor.type.sizes
    return sizes[-1] == x.type.sizes[-1] == factor.type.size and factor.type.rank <= x.type.rank
