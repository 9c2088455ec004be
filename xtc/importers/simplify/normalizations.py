# SPDX-License-Identifier: Apache-2.0
"""Recognizes layer normalization in sequences of small operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.polynomials import polynomial, scalar
from xtc.importers.simplify.rewriter import Rewriter
from xtc.importers.simplify.shapes import producer
from xtc.ops.add import Add
from xtc.ops.div import Div
from xtc.ops.layer_norm import LayerNorm
from xtc.ops.mul import Mul
from xtc.ops.reduce_mean import ReduceMean
from xtc.ops.reshape import Reshape
from xtc.ops.rsqrt import Rsqrt
from xtc.ops.sqrt import Sqrt
from xtc.ops.sub import Sub


def find_layer_norm(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Replace (x - mean) / sqrt(variance + eps) over the last dimensions; fold gamma, then beta."""
    if isinstance(op, Div):
        centered, scale = inputs
        inner = _operand(scale, Sqrt)
        return None if inner is None else _normalized(rewriter, centered, inner)
    if isinstance(op, Mul):
        for centered, scale in (inputs, inputs[::-1]):
            inner = _inverse_root(scale)
            if inner is not None:
                return _normalized(rewriter, centered, inner)
    if isinstance(op, Mul | Add):
        for x, parameter in (inputs, inputs[::-1]):
            norm = producer(x, LayerNorm)
            if isinstance(norm, LayerNorm) and parameter.const is not None:
                return _with_parameter(rewriter, op, norm, x, parameter)
    return None


def _operand(x: Tensor, kind: type[Operator]) -> Tensor | None:
    """The operand of the producer of a tensor, if it is an operator of that kind."""
    return x.producer.inputs[0] if x.producer is not None and producer(x, kind) else None


def _inverse_root(x: Tensor) -> Tensor | None:
    """y, if `x` is 1 / sqrt(y)."""
    if x.producer is not None and isinstance(x.producer.op, Div):
        number, root = x.producer.inputs
        return _operand(root, Sqrt) if scalar(number) == 1 else None
    return _operand(x, Rsqrt)


def _normalized(rewriter: Rewriter, centered: Tensor, shifted: Tensor) -> Tensor | None:
    """The normalization that equals `centered` / sqrt(`shifted`)."""
    x, axis = _centered(centered)
    if x is None or shifted.producer is None or not isinstance(shifted.producer.op, Add):
        return None
    for variance, number in (shifted.producer.inputs, shifted.producer.inputs[::-1]):
        eps, squares = scalar(number), _operand(variance, ReduceMean)
        if eps is None or eps < 0 or squares is None or _mean_axis(variance) != axis:
            continue
        if polynomial(squares, centered) == (0.0, 0.0, 1.0):
            return rewriter.write(LayerNorm(axis, eps), x)
        # The file may compute the difference twice.
        again = _base(squares)
        if again is not None and _centered(again) == (x, axis):
            return rewriter.write(LayerNorm(axis, eps), x)
    return None


def _base(squares: Tensor) -> Tensor | None:
    """The base, if a tensor is a square."""
    node = squares.producer
    if node is None or not node.inputs:
        return None
    base = node.inputs[0]
    return base if polynomial(squares, base) == (0.0, 0.0, 1.0) else None


def _centered(centered: Tensor) -> tuple[Tensor | None, int]:
    """x and the first normalized dimension, if a tensor is x minus its mean."""
    if centered.producer is None or not isinstance(centered.producer.op, Sub):
        return None, 0
    x, mean = centered.producer.inputs
    axis = _mean_axis(mean)
    if axis is None or _operand(mean, ReduceMean) is not x or not x.element.is_float:
        return None, 0
    return x, axis


def _mean_axis(mean: Tensor) -> int | None:
    """The first dimension of a mean over all trailing dimensions that keeps them."""
    op = producer(mean, ReduceMean)
    if not isinstance(op, ReduceMean) or not op.keepdims or mean.producer is None:
        return None
    x = mean.producer.inputs[0]
    axes = op.reduced(x.type)
    return axes[0] if axes and axes == tuple(range(axes[0], x.type.rank)) else None


def _with_parameter(
    rewriter: Rewriter, op: Operator, norm: LayerNorm, x: Tensor, parameter: Tensor
) -> Tensor | None:
    """The normalization with a gamma or beta that it lacks."""
    if x.producer is None or norm.beta or (isinstance(op, Mul) and norm.gamma):
        return None
    row = x.type.sizes[norm.axis % x.type.rank :]
    sizes = parameter.type.sizes
    while len(sizes) > len(row) and sizes[0] == 1:
        sizes = sizes[1:]
    if sizes != row:
        return None
    flag = "gamma" if isinstance(op, Mul) else "beta"
    shaped = parameter if parameter.type.sizes == row else rewriter.write(Reshape(row), parameter)
    return rewriter.write(replace(norm, **{flag: True}), *x.producer.inputs, shaped)
