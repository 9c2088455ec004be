# SPDX-License-Identifier: Apache-2.0
"""Shared by elementwise operators: NumPy broadcasting and one loop per result dimension.

float16 and bfloat16 elements are computed in float32 and rounded once; this is the accumulation
rule of every operator in this family.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES, Dim, TensorType, element_type
from xtc.graph.operator import Array, Operator
from xtc.ir.builders.linalg import Body, LinalgBuilder, Loop, Value, parallel
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_operands

DIM_NAMES = ("i", "j", "k", "l", "m", "n", "o", "p")


def dim_loops(rank: int) -> tuple[Loop, ...]:
    """The loops i, j, k, ... over the dimensions of a result."""
    return parallel(*DIM_NAMES[:rank])


@dataclass(frozen=True)
class Elementwise(Operator):
    """Applies one scalar function to the broadcast elements of its operands.

    `operands` is their number, `flops_per_element` the arithmetic operations of the function, where
    a mathematical function such as exp counts as one.
    """

    operands: ClassVar[int] = 1
    flops_per_element: ClassVar[int] = 1

    @abstractmethod
    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        """The function on one element of each operand, in the type of the computation."""

    def infer(self, *inputs: TensorType) -> TensorType:
        check_operands(self.name, inputs, self.operands)
        require_same_element(self.name, inputs)
        self.check_element(inputs[0])
        return TensorType(broadcast_shape(self.name, inputs), inputs[0].element)

    def check_element(self, type: TensorType) -> None:
        """Raise UserError for element types the function is not defined on."""
        require_number(self.name, type)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(scalars: ScalarBuilder, *elements: Scalar) -> Scalar:
            operands = elements[:-1]
            if result.element.is_float:
                operands = tuple(scalars.cast(x, x.element.accumulator) for x in operands)
            return scalars.cast(self.scalar(scalars, *operands), result.element)

        return emit_elementwise(builder, inputs, result, body)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(self.infer(*inputs).rank)

    def flops(self, *inputs: TensorType) -> int:
        return self.infer(*inputs).size * self.flops_per_element


@dataclass(frozen=True)
class FloatElementwise(Elementwise):
    """An elementwise function of real numbers."""

    def check_element(self, type: TensorType) -> None:
        require_float(self.name, type)


@dataclass(frozen=True)
class Test(Elementwise):
    """An elementwise predicate: `scalar` returns an i1, the result holds bools."""

    def infer(self, *inputs: TensorType) -> TensorType:
        return super().infer(*inputs).with_element(ELEMENT_TYPES["bool"])

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(scalars: ScalarBuilder, *elements: Scalar) -> Scalar:
            wide = [
                scalars.cast(x, x.element.accumulator) if x.element.is_float else x
                for x in elements[:-1]
            ]
            return scalars.cast(self.scalar(scalars, *wide), result.element)

        return emit_elementwise(builder, inputs, result, body)


@dataclass(frozen=True)
class FloatTest(Test):
    """A predicate on real numbers."""

    def check_element(self, type: TensorType) -> None:
        require_float(self.name, type)


def emit_elementwise(
    builder: LinalgBuilder,
    inputs: Sequence[Value],
    result: TensorType,
    body: Body,
    *,
    step: str | None = None,
) -> Value:
    """One linalg.generic over the result's dimensions with `body(scalars, *elements, old)`."""
    loops = dim_loops(result.rank)
    operands = [broadcast_operand(builder, value, result) for value in inputs]
    names = tuple(loop.name for loop in loops)
    return builder.generic(operands, (builder.empty(result), names), loops, body, step=step)


def broadcast_operand(
    builder: LinalgBuilder, value: Value, result: TensorType
) -> tuple[Value, tuple[str, ...]]:
    """`value` without its broadcast dimensions, and its index map in the result's loops."""
    first = result.rank - value.type.rank
    kept = [
        position
        for position, size in enumerate(value.type.sizes)
        if size == result.sizes[first + position]
    ]
    shape = tuple(value.type.sizes[position] for position in kept)
    return builder.reshape(value, shape), tuple(DIM_NAMES[first + position] for position in kept)


def broadcast_shape(name: str, inputs: Sequence[TensorType]) -> tuple[Dim, ...]:
    """NumPy's broadcast of the operands' shapes. Raises UserError if they do not agree."""
    rank = max(type.rank for type in inputs)
    padded = [(1,) * (rank - type.rank) + type.shape for type in inputs]
    return tuple(_broadcast_dim(name, inputs, dims) for dims in zip(*padded, strict=True))


def _broadcast_dim(name: str, inputs: Sequence[TensorType], dims: Sequence[Dim]) -> Dim:
    sizes = dict.fromkeys(dim for dim in dims if dim != 1)
    if len(sizes) > 1:
        shapes = " and ".join(str(type.shape) for type in inputs)
        raise UserError(
            f"shapes {shapes} of {name} do not broadcast",
            notes=["aligned at the last dimension, sizes must be equal or 1"],
        )
    return next(iter(sizes), 1)


def require_same_element(name: str, inputs: Sequence[TensorType]) -> None:
    """Raise UserError unless all operands have one element type: nothing is promoted silently."""
    names = list(dict.fromkeys(type.element.name for type in inputs))
    if len(names) > 1:
        raise UserError(
            f"operands of {name} have different element types: {' and '.join(names)}",
            hints=[f"O.cast(x, '{names[0]}') converts one of them"],
        )


def require_number(name: str, type: TensorType) -> None:
    """Raise UserError for bool, which has no arithmetic."""
    if type.element.kind == "bool":
        raise UserError(
            f"{name} is not defined on bool", hints=["O.cast(x, 'int32') makes numbers"]
        )


def require_float(name: str, type: TensorType) -> None:
    """Raise UserError unless `type` is floating-point."""
    if not type.element.is_float:
        raise UserError(
            f"{name} is not defined on {type.element}",
            hints=["O.cast(x, 'float32') converts the operand"],
        )


def require_integer(name: str, type: TensorType) -> None:
    """Raise UserError unless `type` holds integers."""
    if type.element.kind != "int":
        raise UserError(f"{name} is defined on integers, not on {type.element}")


def require_bool(name: str, type: TensorType) -> None:
    """Raise UserError unless `type` holds bools."""
    if type.element.kind != "bool":
        raise UserError(
            f"{name} is defined on bool, not on {type.element}",
            hints=["O.cast(x, 'bool') is x != 0"],
        )


def require_whole(name: str, type: TensorType) -> None:
    """Raise UserError for floats: bitwise operators take integers."""
    if type.element.is_float:
        raise UserError(f"{name} is defined on integers and bool, not on {type.element}")


def widened(array: Array) -> Array:
    """The array in its computation type: float32 for half floats."""
    element = element_type(array.dtype)
    return array.astype(element.accumulator.numpy, copy=False) if element.is_float else array
