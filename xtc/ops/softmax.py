# SPDX-License-Identifier: Apache-2.0
"""softmax: exponentials along an axis, scaled to sum to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import IndexMap, LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_axis, check_operands, operand_type, user_function
from xtc.ops.elementwise import dim_loops, require_float, widened
from xtc.ops.reduction import Combine, kept_names, reduce


@dataclass(frozen=True)
class Softmax(Operator):
    """exp(x - max) / sum(exp(x - max)) along `axis`.

    Half floats are computed in float32 and rounded once. The steps are "max", "exp" and "sum"; the
    main operation is the division. A NaN or +infinity along the axis makes all of it NaN, as do
    only -infinities.
    """

    name: ClassVar[str] = "softmax"
    axis: int = -1

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        require_float(self.name, x)
        check_axis(self.name, "axis", self.axis, x.rank)
        return x

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        powers = np.exp(x - np.max(x, axis=self.axis, keepdims=True))
        result: Array = powers / np.sum(powers, axis=self.axis, keepdims=True)
        return result

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(inputs[0].rank)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        (x,) = inputs
        wide = result.with_element(result.element.accumulator)
        loops = dim_loops(result.rank)
        names = tuple(loop.name for loop in loops)
        axis = check_axis(self.name, "axis", self.axis, result.rank)
        rows = kept_names(result.rank, [axis])

        def power(body: ScalarBuilder, value: Scalar, largest: Scalar, _old: Scalar) -> Scalar:
            distance = body.sub(body.cast(value, wide.element), largest)
            return body.math("exp", distance, at_most_zero=True)

        def share(body: ScalarBuilder, value: Scalar, total: Scalar, _old: Scalar) -> Scalar:
            # From 1, the largest exponential, to the number of elements; or NaN.
            return body.cast(body.div(value, total, by_reciprocal=True), result.element)

        def total(of: Value, start: float, combine: Combine, step: str) -> tuple[Value, IndexMap]:
            return reduce(builder, of, [axis], wide.element, start, combine, step=step), rows

        largest = total(x, -math.inf, ScalarBuilder.maximum, "max")
        init = (builder.empty(wide), names)
        powers = builder.generic([(x, names), largest], init, loops, power, step="exp")
        sums = total(powers, 0, ScalarBuilder.add, "sum")
        return builder.generic(
            [(powers, names), sums], (builder.empty(result), names), loops, share
        )

    def flops(self, *inputs: TensorType) -> int:
        """Maximum, subtraction, exponential, sum and division of every element."""
        return 5 * inputs[0].size

    def reduction_size(self, *inputs: TensorType) -> int:
        return inputs[0].sizes[self.axis]


@user_function
def softmax(x: Tensor, *, axis: int = -1, name: str | None = None, device: object = None) -> Tensor:
    """exp(x - max) / sum(exp(x - max)) along `axis`, of any float type and rank 1 or more.

    Half floats are computed in float32 and rounded once. Raises UserError for integers and bool,
    and for an axis that `x` does not have.
    """
    rank = operand_type("softmax", x).rank
    return apply(Softmax(check_axis("softmax", "axis", axis, rank)), x, name=name, device=device)
