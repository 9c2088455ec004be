# SPDX-License-Identifier: Apache-2.0
"""matmul: the matrix product, including transposed and batched forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import Dim, TensorType, dot_groups
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value, parallel
from xtc.ops.accumulation import (
    accumulator_dtype,
    contraction_element,
    multiply_add,
    round_result,
)
from xtc.ops.attributes import check_flag, check_operands, user_function
from xtc.ops.elementwise import broadcast_shape, require_number, require_same_element


@dataclass(frozen=True)
class Matmul(Operator):
    """`(..., i, k) @ (..., k, j) -> (..., i, j)`, leading dimensions broadcast as in NumPy.

    float16 and bfloat16 are accumulated in float32, int8 and int16 in int32 (also the result's
    type), other types in themselves.
    """

    name: ClassVar[str] = "matmul"
    transpose_a: bool = False
    transpose_b: bool = False

    def infer(self, *inputs: TensorType) -> TensorType:
        a, b = check_operands(self.name, inputs, 2)
        check_flag(self.name, "transpose_a", self.transpose_a)
        check_flag(self.name, "transpose_b", self.transpose_b)
        require_same_element(self.name, inputs)
        require_number(self.name, a)
        for side, type in (("first", a), ("second", b)):
            if type.rank < 2:
                raise UserError(
                    f"the {side} operand of matmul has rank {type.rank}, not 2 or more",
                    hints=["O.gemv multiplies a matrix by a vector"],
                )
        i, k = _matrix(a, self.transpose_a)
        k_of_b, j = _matrix(b, self.transpose_b)
        if k != k_of_b:
            raise UserError(f"K of matmul is {k} in the first operand but {k_of_b} in the second")
        batch = broadcast_shape(self.name, [t.with_shape(t.shape[:-2]) for t in inputs])
        return TensorType((*batch, i, j), contraction_element(a.element))

    def reference(self, *arrays: Array) -> Array:
        a, b = (array.astype(accumulator_dtype(array.dtype)) for array in arrays)
        a = a.swapaxes(-1, -2) if self.transpose_a else a
        b = b.swapaxes(-1, -2) if self.transpose_b else b
        result: Array = np.matmul(a, b)
        return result

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        batch = max(type.rank for type in inputs) - 2
        names = ("b",) if batch == 1 else tuple(f"b{d}" for d in range(batch))
        k = inputs[0].shape[-2 if self.transpose_a else -1]
        groups = dot_groups(inputs[0].element.mlir, k) if isinstance(k, int) else ()
        return (*parallel(*names, "i", "j"), Loop("k", reduction=True, groups=groups))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        types = [value.type for value in inputs]
        loops = self.loops(*types)
        maps = self._maps(types, result)
        init = builder.fill(0, result.with_element(result.element.accumulator))
        named = {0: "linalg.matmul", 1: "linalg.batch_matmul"}.get(result.rank - 2)
        if (
            named is not None
            and all(type.rank == result.rank for type in types)
            and (result.rank == 2 or all(type.sizes[0] == result.sizes[0] for type in types))
        ):
            sizes = (*result.sizes, self.reduction_size(*types))
            plain = not (self.transpose_a or self.transpose_b)
            value = builder.named(named, inputs, init, loops, sizes, maps=() if plain else maps)
        else:
            value = self._broadcast(builder, inputs, init, loops, maps)
        return round_result(builder, value, result)

    def _broadcast(
        self,
        builder: LinalgBuilder,
        inputs: Sequence[Value],
        init: Value,
        loops: Sequence[Loop],
        maps: Sequence[tuple[str, ...]],
    ) -> Value:
        """The form with several leading dimensions, or with broadcast ones of size 1."""
        operands = []
        for value, names in zip(inputs, maps[:2], strict=True):
            sizes = value.type.sizes
            lead = value.type.rank - 2
            shape = [
                s
                for d, s in enumerate(sizes)
                if d >= lead or not _stretched(value.type, init.type, d)
            ]
            operands.append((builder.reshape(value, shape), names))
        return builder.generic(operands, (init, maps[2]), loops, multiply_add)

    def _maps(self, types: Sequence[TensorType], result: TensorType) -> list[tuple[str, ...]]:
        batch = tuple(loop.name for loop in self.loops(*types)[:-3])
        tails = (
            ("k", "i") if self.transpose_a else ("i", "k"),
            ("j", "k") if self.transpose_b else ("k", "j"),
        )
        maps = [
            (*_batch_names(type, result, batch), *tail)
            for type, tail in zip(types, tails, strict=True)
        ]
        return [*maps, (*batch, "i", "j")]

    def flops(self, *inputs: TensorType) -> int:
        return 2 * self.infer(*inputs).size * self.reduction_size(*inputs)

    def reduction_size(self, *inputs: TensorType) -> int:
        return int(inputs[0].sizes[-2 if self.transpose_a else -1])


@user_function
def matmul(
    a: Tensor,
    b: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """Matrix product `(..., i, k) @ (..., k, j) -> (..., i, j)`.

    With `transpose_a` the first operand is `(..., k, i)`, with `transpose_b` the second one
    `(..., j, k)`. Leading dimensions broadcast. int8 and int16 give int32. Raises UserError if
    shapes or element types do not fit.
    """
    op = Matmul(
        check_flag("matmul", "transpose_a", transpose_a),
        check_flag("matmul", "transpose_b", transpose_b),
    )
    return apply(op, a, b, name=name, device=device)


def _matrix(type: TensorType, transposed: bool) -> tuple[Dim, Dim]:
    rows, columns = type.shape[-2:]
    return (columns, rows) if transposed else (rows, columns)


def _stretched(type: TensorType, result: TensorType, position: int) -> bool:
    """A leading dimension of size 1 that the result repeats."""
    size = result.sizes[position + result.rank - type.rank]
    return type.sizes[position] != size


def _batch_names(type: TensorType, result: TensorType, batch: Sequence[str]) -> tuple[str, ...]:
    lead = type.rank - 2
    first = len(batch) - lead
    return tuple(batch[first + d] for d in range(lead) if not _stretched(type, result, d))
