# SPDX-License-Identifier: Apache-2.0
"""reshape: the same elements in row-major order, with another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError, shown
from xtc.core.types import Dim, TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ops.attributes import check_ints, check_operands, operand_type, user_function


@dataclass(frozen=True)
class Reshape(Operator):
    """Elements in row-major order with the shape `shape`, in which one size may be -1 (inferred).

    A symbolic first dimension is written as -1, so the attribute stays the same once its size is
    known.
    """

    name: ClassVar[str] = "reshape"
    shape: tuple[int, ...]

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        shape = check_ints(self.name, "shape", self.shape, minimum=-1)
        return x.with_shape(_static(x, shape) if x.is_static else _symbolic(x, shape))

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        return np.reshape(x, self.shape)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return ()

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        return builder.reshape(inputs[0], result.sizes)

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def reshape(x: Tensor, shape: object, *, name: str | None = None, device: object = None) -> Tensor:
    """The elements of `x` in row-major order in another shape; nothing is computed.

    One size may be -1, which is inferred. A symbolic first dimension stays first: write its name or
    -1. Raises UserError if the numbers of elements differ.
    """
    type = operand_type("reshape", x)
    return apply(Reshape(_canonical(shape, type)), x, name=name, device=device)


def _canonical(shape: object, type: TensorType) -> tuple[int, ...]:
    """Sizes as numbers; only a symbolic dimension remains, as a leading -1."""
    if isinstance(shape, int | np.integer):
        shape = (shape,)
    if not isinstance(shape, Sequence) or not shape or not isinstance(shape[0], str):
        sizes = check_ints("reshape", "shape", shape)
        return Reshape(sizes).infer(type).sizes if type.is_static else sizes
    if shape[0] not in type.shape[:1]:
        raise UserError(
            f"shape of reshape starts with {shown(shape[0])}, which the operand does not have",
            notes=[f"the operand has shape {type.shape}"],
        )
    sizes = check_ints("reshape", "shape", (-1, *shape[1:]), minimum=-1)
    return (-1, *_filled(sizes[1:], math.prod(type.with_shape(type.shape[1:]).sizes)))


def _filled(sizes: tuple[int, ...], wanted: int) -> tuple[int, ...]:
    """Sizes with a -1 replaced so that their product is `wanted`, if possible."""
    known = math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) != 1 or known == 0 or wanted % known:
        return sizes
    return tuple(wanted // known if size == -1 else size for size in sizes)


def _static(x: TensorType, shape: tuple[int, ...]) -> tuple[Dim, ...]:
    if 0 in shape or shape.count(-1) > 1:
        raise UserError(
            f"shape of reshape is {shown(shape)}",
            notes=["sizes are 1 or more; at most one is -1, which is inferred"],
        )
    filled = _filled(shape, x.size)
    if -1 in filled or math.prod(filled) != x.size:
        raise UserError(
            f"shape of reshape is {shown(shape)}, but the operand {x} has {x.size} elements"
        )
    return filled


def _symbolic(x: TensorType, shape: tuple[int, ...]) -> tuple[Dim, ...]:
    name, *rest = x.shape
    wanted = math.prod(int(size) for size in rest)
    if shape[:1] != (-1,) or -1 in shape[1:] or math.prod(shape[1:]) != wanted:
        raise UserError(
            f"shape of reshape is {shown(shape)}",
            notes=[f"the symbolic dimension '{name}' stays first"],
            hints=[f"start with '{name}' or -1; the other sizes multiply to {wanted}"],
        )
    return (name, *shape[1:])
