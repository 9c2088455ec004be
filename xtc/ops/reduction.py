# SPDX-License-Identifier: Apache-2.0
"""Shared by reductions: axes, result shape and linalg emission.

The main operation runs over the operand's dimensions, so its loops are i, j, k, ... of the operand,
the reduced ones marked. It is a linalg.generic, into which an elementwise operand can be fused,
unlike linalg.reduce. Floats are reduced in their accumulator's type and rounded once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xtc.core.types import Dim, ElementType, TensorType
from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.accumulation import round_result
from xtc.ops.attributes import check_axes, check_flag, check_operands, operand_type
from xtc.ops.elementwise import DIM_NAMES

Combine = Callable[[ScalarBuilder, Scalar, Scalar], Scalar]


@dataclass(frozen=True)
class Reduction(Operator):
    """Combines the elements along `axes` into one; `keepdims` leaves dimensions of size 1."""

    axes: tuple[int, ...] | None = None
    keepdims: bool = False

    @abstractmethod
    def combine(self, body: ScalarBuilder, total: Scalar, element: Scalar) -> Scalar:
        """The combination of a partial result and an element, both of the total's type."""

    @abstractmethod
    def start(self, element: ElementType) -> float | int | bool:
        """The neutral element of the operation."""

    def check_element(self, type: TensorType) -> None:
        """Raise UserError for element types the reduction is not defined on."""

    def result_element(self, element: ElementType) -> ElementType:
        """The element type of the result."""
        return element

    def total_element(self, element: ElementType) -> ElementType:
        """The element type of the running total."""
        return element.accumulator if element.is_float else self.result_element(element)

    def reduced(self, type: TensorType) -> tuple[int, ...]:
        """The reduced axes in ascending order. Raises UserError if they do not fit."""
        return tuple(sorted(check_axes(self.name, "axes", self.axes, type.rank)))

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        keepdims = check_flag(self.name, "keepdims", self.keepdims)
        self.check_element(x)
        shape = reduced_shape(x.shape, self.reduced(x), keepdims=keepdims)
        return TensorType(shape, self.result_element(x.element))

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return reduction_loops(inputs[0].rank, self.reduced(inputs[0]))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        total = self.emit_total(builder, inputs[0])
        rounded = round_result(builder, total, total.type.with_element(result.element))
        return builder.reshape(rounded, result.sizes)

    def emit_total(self, builder: LinalgBuilder, x: Value, *, step: str | None = None) -> Value:
        """The reduction without its reduced dimensions and without its last rounding."""
        element = self.total_element(x.type.element)
        start = self.start(element)
        return reduce(builder, x, self.reduced(x.type), element, start, self.combine, step=step)

    def flops(self, *inputs: TensorType) -> int:
        return inputs[0].size


def reduce(
    builder: LinalgBuilder,
    x: Value,
    axes: Sequence[int],
    element: ElementType,
    start: float | int | bool,
    combine: Combine,
    *,
    step: str | None = None,
) -> Value:
    """`x` reduced along `axes`, which vanish, with a total of type `element`."""
    shape = reduced_shape(x.type.shape, axes, keepdims=False)
    type = TensorType(shape, element)
    init = builder.fill(start, type, step="init" if step is None else f"{step}.init")

    def body(scalars: ScalarBuilder, value: Scalar, total: Scalar) -> Scalar:
        return combine(scalars, total, scalars.cast(value, element))

    names, kept = DIM_NAMES[: x.type.rank], kept_names(x.type.rank, axes)
    loops = reduction_loops(x.type.rank, axes)
    return builder.generic([(x, names)], (init, kept), loops, body, step=step)


def reduction_loops(rank: int, axes: Sequence[int]) -> tuple[Loop, ...]:
    """A loop for each dimension; those of `axes` are reductions."""
    return tuple(Loop(DIM_NAMES[axis], reduction=axis in axes) for axis in range(rank))


def kept_names(rank: int, axes: Sequence[int]) -> tuple[str, ...]:
    """The index map of a reduced value in the loops of its operand."""
    return tuple(DIM_NAMES[axis] for axis in range(rank) if axis not in axes)


def reduced_shape(shape: Sequence[Dim], axes: Sequence[int], *, keepdims: bool) -> tuple[Dim, ...]:
    """The shape without `axes`, or with size 1 there."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def reduction_attributes(
    op: str, x: Tensor, axes: object, keepdims: object
) -> tuple[tuple[int, ...], bool]:
    """A user's axes, ascending and non-negative, and keepdims. Raises UserError if invalid."""
    chosen = check_axes(op, "axes", axes, operand_type(op, x).rank)
    return tuple(sorted(chosen)), check_flag(op, "keepdims", keepdims)
