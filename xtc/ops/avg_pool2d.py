# SPDX-License-Identifier: Apache-2.0
"""avg_pool2d: the mean of each window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.accumulation import accumulator_dtype
from xtc.ops.attributes import check_flag, user_function
from xtc.ops.elementwise import DIM_NAMES, dim_loops, emit_elementwise, require_float
from xtc.ops.pooling import Pool2d, canonical_window
from xtc.ops.window import Pair, Slide


@dataclass(frozen=True)
class AvgPool2d(Pool2d):
    """The mean of each window, of its elements alone or with `count_include_pad` of padding too.

    float16 and bfloat16 are summed and divided in float32 and rounded once; int8 is summed in
    int32, and halves of its means are rounded away from zero.
    """

    name: ClassVar[str] = "avg_pool2d"
    count_include_pad: bool = False

    def check_element(self, type: TensorType) -> None:
        if type.element.name != "int8":
            require_float(self.name, type)
        check_flag(self.name, "count_include_pad", self.count_include_pad)

    def counts(self, sizes: Pair) -> list[Array]:
        """Counted rows of each output row and counted columns of each output column."""
        return [self._counts(slide) for slide in self.slides(sizes)]

    def _counts(self, slide: Slide) -> Array:
        return np.full(slide.output, slide.window) if self.count_include_pad else slide.counts()

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        wide = x.astype(accumulator_dtype(x.dtype))
        rows, columns = self.counts((x.shape[1], x.shape[2]))
        count = np.multiply.outer(rows, columns)[..., np.newaxis].astype(wide.dtype)
        total: Array = self.padded_windows(wide, 0).sum(axis=(-2, -1), dtype=wide.dtype)
        if wide.dtype.kind == "i":
            nearest = (np.abs(total) + count // 2) // count
            return np.asarray(np.sign(total) * nearest, x.dtype)
        mean: Array = total / count
        return mean

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        (x,) = inputs
        wide = result.with_element(result.element.accumulator)
        total = self.reduce(builder, "linalg.pooling_nhwc_sum", x, wide, 0)
        counts = self.counts((x.type.sizes[1], x.type.sizes[2]))
        if all((count == taps).all() for count, taps in zip(counts, self.window, strict=True)):
            return _divide_by(builder, total, self.window[0] * self.window[1], result)
        return _divide(builder, total, counts, result)

    def reduction_size(self, *inputs: TensorType) -> int:
        return self.window[0] * self.window[1]


@user_function
def avg_pool2d(
    x: Tensor,
    window: int | Pair,
    *,
    stride: int | Pair | None = None,
    padding: object = 0,
    dilation: int | Pair = 1,
    count_include_pad: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The mean of each window of `x`, (n, h, w, c), of a float type or int8.

    Window, stride and dilation are one number or (height, width); the stride is the window where
    None. Padding is written as for conv2d and is smaller than the window; its zeros are counted
    only with `count_include_pad`. float16 and bfloat16 are computed in float32 and rounded once;
    means of int8 are rounded, ties away from zero, as in TensorFlow Lite. Loops are n, h, w, c,
    r, s. Raises UserError if rank, element type or attributes do not fit.
    """
    attributes = canonical_window("avg_pool2d", x, window, stride, padding, dilation)
    flag = check_flag("avg_pool2d", "count_include_pad", count_include_pad)
    op = AvgPool2d(**attributes, count_include_pad=flag)
    return apply(op, x, name=name, device=device)


def _mean(body: ScalarBuilder, total: Scalar, count: Scalar) -> Scalar:
    """total / count; of integers to nearest, ties away from zero."""
    if total.element.is_float:
        return body.div(total, count)
    half = body.shift("right", count, body.constant(1, count.element), inside=True)
    below = body.compare("lt", total, body.constant(0, total.element))
    away = body.select(below, body.neg(half), half)
    return body.quotient(body.add(total, away), count)


def _divide_by(builder: LinalgBuilder, total: Value, count: int, result: TensorType) -> Value:
    """total / count, rounded to the result's type."""

    def body(scalars: ScalarBuilder, element: Scalar, _old: Scalar) -> Scalar:
        mean = _mean(scalars, element, scalars.constant(count, element.element))
        return scalars.cast(mean, result.element)

    return emit_elementwise(builder, [total], result, body, step="mean")


def _divide(
    builder: LinalgBuilder, total: Value, counts: Sequence[Array], result: TensorType
) -> Value:
    """total / (rows * columns), where a window at the edge has fewer of them."""

    def body(
        scalars: ScalarBuilder, element: Scalar, rows: Scalar, columns: Scalar, _old: Scalar
    ) -> Scalar:
        mean = _mean(scalars, element, scalars.mul(rows, columns))
        return scalars.cast(mean, result.element)

    rows, columns = (builder.vector(count.tolist(), total.type.element) for count in counts)
    names = DIM_NAMES[: result.rank]
    operands = [(total, names), (rows, names[1:2]), (columns, names[2:3])]
    init = builder.empty(result)
    return builder.generic(operands, (init, names), dim_loops(result.rank), body, step="mean")
