# SPDX-License-Identifier: Apache-2.0
"""layer_norm: each row normalized to mean 0 and variance 1, then scaled and shifted.

J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer Normalization", arXiv 1607.06450. Mean and variance
are computed in two passes, so that a large mean does not cancel the variance. If the mean is not
held in a wider type than the elements, the mean of the residuals corrects both, as in the corrected
two-pass algorithm of T. F. Chan, G. H. Golub and R. J. LeVeque,
"Algorithms for Computing the Sample Variance", The American Statistician 37(3), 1983.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import Body, LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import (
    check_axis,
    check_fits,
    check_flag,
    check_operands,
    check_real,
    operand_type,
    user_function,
)
from xtc.ops.elementwise import (
    DIM_NAMES,
    dim_loops,
    emit_elementwise,
    require_float,
    require_same_element,
    widened,
)
from xtc.ops.reduction import kept_names, reduce, reduction_loops


@dataclass(frozen=True)
class LayerNorm(Operator):
    """(x - mean) / sqrt(variance + eps) over the dimensions from `axis` on, times gamma, plus beta.

    `gamma` and `beta` say which of those operands follow x. Half floats are computed in float32 and
    rounded once. The steps are "sum", "mean", "squares" and "scale", with "rest.sum", "rest" and
    "shift" for the correction of the mean; the main operation runs over x.
    """

    name: ClassVar[str] = "layer_norm"
    axis: int = -1
    eps: float = 1e-5
    gamma: bool = False
    beta: bool = False

    def infer(self, *inputs: TensorType) -> TensorType:
        names = self._parameters()
        x, *parameters = check_operands(self.name, inputs, 1 + len(names))
        require_float(self.name, x)
        require_same_element(self.name, inputs)
        eps = check_real(self.name, "eps", self.eps, minimum=0)
        check_fits(self.name, "eps", eps, x.element.accumulator)
        row = x.shape[check_axis(self.name, "axis", self.axis, x.rank) :]
        for name, type in zip(names, parameters, strict=True):
            if type.shape != row:
                raise UserError(
                    f"{name} of layer_norm has shape {type.shape}, not {row}",
                    notes=["its shape is that of the normalized dimensions"],
                )
        return x

    def _parameters(self) -> list[str]:
        given = {"gamma": self.gamma, "beta": self.beta}
        return [name for name, flag in given.items() if check_flag(self.name, name, flag)]

    def _axes(self, rank: int) -> tuple[int, ...]:
        return tuple(range(check_axis(self.name, "axis", self.axis, rank), rank))

    def reference(self, *arrays: Array) -> Array:
        x, *parameters = (widened(array) for array in arrays)
        axes, number = self._axes(x.ndim), x.dtype.type
        centered = x - np.mean(x, axis=axes, keepdims=True)
        variance = np.mean(centered * centered, axis=axes, keepdims=True)
        result: Array = centered * (number(1) / np.sqrt(variance + number(self.eps)))
        if self.gamma:
            result = result * parameters[0]
        return result + parameters[-1] if self.beta else result

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(inputs[0].rank)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x, *parameters = inputs
        axes = self._axes(result.rank)
        names, row = DIM_NAMES[: result.rank], tuple(DIM_NAMES[axis] for axis in axes)
        rows = kept_names(result.rank, axes)
        statistics = _statistics(builder, x, axes, self.eps)
        operands = [(x, names), *((value, rows) for value in statistics)]
        operands += [(parameter, row) for parameter in parameters]
        init = (builder.empty(result), names)
        return builder.generic(operands, init, dim_loops(result.rank), self._normalize)

    def _normalize(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        """((x - mean) * scale + shift) * gamma + beta."""
        wide = [body.cast(element, element.element.accumulator) for element in elements[:-1]]
        last = len(wide) - self.gamma - self.beta - 1
        y, (mean, scale, *shifts), parameters = wide[0], wide[1 : last + 1], wide[last + 1 :]
        y = body.mul(body.sub(y, mean), scale)
        for shift in shifts:  # fused with the multiplication
            y = body.add(y, shift)
        if self.gamma:
            y = body.mul(y, parameters[0])
        if self.beta:
            y = body.add(y, parameters[-1])
        return body.cast(y, elements[0].element)

    def flops(self, *inputs: TensorType) -> int:
        """Sum, subtraction, multiply-add, subtraction, scaling, gamma and beta of every element."""
        return (6 + len(self._parameters())) * inputs[0].size

    def reduction_size(self, *inputs: TensorType) -> int:
        (x, *_) = inputs
        return math.prod(x.sizes[axis] for axis in self._axes(x.rank))


@user_function
def layer_norm(
    x: Tensor,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    *,
    axis: int = -1,
    eps: float = 1e-5,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * gamma + beta, over all dimensions from `axis` on.

    `x` is of any float type, `gamma` and `beta` of the same one and of shape `x.shape[axis:]`;
    without them nothing is scaled or shifted. Half floats are computed in float32 and rounded once.
    Raises UserError if types, shapes, `axis` or `eps` (0 or more) do not fit.
    """
    rank = operand_type("layer_norm", x).rank
    op = LayerNorm(
        check_axis("layer_norm", "axis", axis, rank),
        check_real("layer_norm", "eps", eps, minimum=0),
        gamma=gamma is not None,
        beta=beta is not None,
    )
    parameters = [operand for operand in (gamma, beta) if operand is not None]
    return apply(op, x, *parameters, name=name, device=device)


def _statistics(builder: LinalgBuilder, x: Value, axes: Sequence[int], eps: float) -> list[Value]:
    """The mean and the scale of each row, in the accumulator's type.

    Where that is x's own type, also the shift that corrects the mean: its rest times minus scale.
    """
    wide = x.type.element.accumulator
    total = reduce(builder, x, axes, wide, 0, ScalarBuilder.add, step="sum")

    def divided(body: ScalarBuilder, total: Scalar, _old: Scalar) -> Scalar:
        return _divided(body, total, x, axes)

    def rest(body: ScalarBuilder, value: Scalar, mean: Scalar, total: Scalar) -> Scalar:
        return body.add(total, body.sub(value, mean))

    def square(body: ScalarBuilder, value: Scalar, mean: Scalar, total: Scalar) -> Scalar:
        centered = body.sub(body.cast(value, mean.element), mean)
        return body.add(total, body.mul(centered, centered))

    mean = emit_elementwise(builder, [total], total.type, divided, step="mean")
    if wide != x.type.element:
        squares = _over_rows(builder, x, mean, axes, square, "squares")
        return [mean, _scale(builder, x, squares, [], axes, eps)]
    # Next to the squares, to share their loop.
    left = _over_rows(builder, x, mean, axes, rest, "rest.sum")
    squares = _over_rows(builder, x, mean, axes, square, "squares")
    correction = emit_elementwise(builder, [left], left.type, divided, step="rest")
    scale = _scale(builder, x, squares, [correction], axes, eps)
    shift = emit_elementwise(builder, [correction, scale], scale.type, _negated, step="shift")
    return [mean, scale, shift]


def _negated(body: ScalarBuilder, rest: Scalar, scale: Scalar, _old: Scalar) -> Scalar:
    """Minus the product."""
    return body.mul(body.sub(body.constant(0, rest.element), rest), scale)


def _over_rows(
    builder: LinalgBuilder,
    x: Value,
    mean: Value,
    axes: Sequence[int],
    body: Body,
    step: str,
) -> Value:
    """A sum over each row, of its elements and its mean."""
    names, rows = DIM_NAMES[: x.type.rank], kept_names(x.type.rank, axes)
    init = (builder.fill(0, mean.type, step=f"{step}.init"), rows)
    return builder.generic(
        [(x, names), (mean, rows)], init, reduction_loops(x.type.rank, axes), body, step=step
    )


def _scale(
    builder: LinalgBuilder,
    x: Value,
    squares: Value,
    rests: Sequence[Value],
    axes: Sequence[int],
    eps: float,
) -> Value:
    """1 / sqrt(variance + eps) of each row, in the accumulator's type."""

    def scale(body: ScalarBuilder, squares: Scalar, *others: Scalar) -> Scalar:
        variance = _divided(body, squares, x, axes)
        for rest in others[:-1]:
            lessened = body.sub(variance, body.mul(rest, rest))
            variance = body.maximum(lessened, body.constant(0, variance.element))
        shifted = body.add(variance, body.constant(eps, variance.element))
        return body.div(body.constant(1, variance.element), body.math("sqrt", shifted))

    return emit_elementwise(builder, [squares, *rests], squares.type, scale, step="scale")


def _divided(body: ScalarBuilder, total: Scalar, x: Value, axes: Sequence[int]) -> Scalar:
    """`total` by the number of elements in a row."""
    count = math.prod(x.type.sizes[axis] for axis in axes)
    return body.div(total, body.constant(count, total.element))
