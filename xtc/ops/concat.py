# SPDX-License-Identifier: Apache-2.0
"""concat: tensors joined along one dimension."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import Dim, TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ops.attributes import check_axis, check_int, operand_type, user_function
from xtc.ops.elementwise import require_same_element


@dataclass(frozen=True)
class Concat(Operator):
    """The operands joined along dimension `axis`; all other dimensions are equal."""

    name: ClassVar[str] = "concat"
    axis: int = 0

    def infer(self, *inputs: TensorType) -> TensorType:
        if len(inputs) < 2:
            raise UserError(f"concat takes two or more operands, not {len(inputs)}")
        require_same_element(self.name, inputs)
        first = inputs[0]
        axis = check_int(self.name, "axis", self.axis, minimum=0)
        check_axis(self.name, "axis", axis, first.rank)
        for position, type in enumerate(inputs[1:], start=1):
            _check_alike(first, type, position, axis)
        return first.with_shape(
            (*first.shape[:axis], _total(inputs, axis), *first.shape[axis + 1 :])
        )

    def reference(self, *arrays: Array) -> Array:
        return np.concatenate(arrays, self.axis)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return ()

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        value = builder.empty(result, own=True)
        sizes = [x.type.sizes[self.axis] for x in inputs]
        starts = itertools.accumulate(sizes[:-1], initial=0)
        for x, start in zip(inputs, starts, strict=True):
            offsets = [start if d == self.axis else 0 for d in range(result.rank)]
            value = builder.insert_slice(x, value, offsets)
        return value

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def concat(*xs: Tensor, axis: int = 0, name: str | None = None, device: object = None) -> Tensor:
    """Two or more tensors of one element type, joined along dimension `axis`.

    A negative axis counts from the end; a symbolic dimension cannot be the axis. Raises
    UserError where ranks or other dimensions differ.
    """
    if not xs:
        raise UserError("concat takes two or more operands, not 0")
    rank = operand_type("concat", xs[0]).rank
    return apply(Concat(check_axis("concat", "axis", axis, rank)), *xs, name=name, device=device)


def _check_alike(first: TensorType, type: TensorType, position: int, axis: int) -> None:
    if type.rank != first.rank:
        raise UserError(
            f"operand {position} of concat has rank {type.rank}, but the first one {first.rank}"
        )
    for d, (size, wanted) in enumerate(zip(type.shape, first.shape, strict=True)):
        if d != axis and size != wanted:
            raise UserError(
                f"dimension {d} of operand {position} of concat is {size}, not {wanted}",
                notes=[f"only dimension {axis}, the axis, may differ"],
            )


def _total(inputs: Sequence[TensorType], axis: int) -> Dim:
    total = 0
    for type in inputs:
        size = type.shape[axis]
        if isinstance(size, str):
            raise UserError(f"axis of concat is {axis}, but dimension '{size}' is symbolic")
        total += size
    return total
