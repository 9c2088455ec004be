# SPDX-License-Identifier: Apache-2.0
"""gemv: a matrix times a vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import Dim, TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value, parallel, reduction
from xtc.ops.accumulation import accumulator_dtype, contraction_element, round_result
from xtc.ops.attributes import check_flag, check_operands, user_function
from xtc.ops.elementwise import require_number, require_same_element


@dataclass(frozen=True)
class Gemv(Operator):
    """`(i, k) @ (k) -> (i)`; with `transpose` the matrix is stored as `(k, i)`.

    Accumulates as matmul does: halves in float32, int8 and int16 in int32.
    """

    name: ClassVar[str] = "gemv"
    transpose: bool = False

    def infer(self, *inputs: TensorType) -> TensorType:
        a, x = check_operands(self.name, inputs, 2)
        require_same_element(self.name, inputs)
        require_number(self.name, a)
        check_flag(self.name, "transpose", self.transpose)
        _check_rank("first", a, 2, "O.matmul multiplies two matrices")
        _check_rank("second", x, 1, "O.matmul multiplies two matrices")
        rows, k = self._extents(a)
        if x.shape[0] != k:
            raise UserError(f"K of gemv is {k} in the matrix but {x.shape[0]} in x")
        return TensorType((rows,), contraction_element(a.element))

    def _extents(self, a: TensorType) -> tuple[Dim, Dim]:
        """Rows of the result, and K."""
        i, k = reversed(a.shape) if self.transpose else a.shape
        return i, k

    def reference(self, *arrays: Array) -> Array:
        a, x = (array.astype(accumulator_dtype(array.dtype)) for array in arrays)
        result: Array = np.matmul(a.T if self.transpose else a, x)
        return result

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return (*parallel("i"), *reduction("k"))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        a, x = inputs
        init = builder.fill(0, result.with_element(result.element.accumulator))
        sizes = (*result.sizes, *x.type.sizes)
        name, operands = ("vecmat", (x, a)) if self.transpose else ("matvec", (a, x))
        value = builder.named(f"linalg.{name}", operands, init, self.loops(), sizes)
        return round_result(builder, value, result)

    def flops(self, *inputs: TensorType) -> int:
        return 2 * inputs[0].size

    def reduction_size(self, *inputs: TensorType) -> int:
        return inputs[1].size


@user_function
def gemv(
    a: Tensor,
    x: Tensor,
    *,
    transpose: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """Matrix-vector product `(i, k) @ (k) -> (i)`.

    With `transpose` the matrix is given as `(k, i)`. float16 and bfloat16 are summed in float32 and
    rounded once; int8 and int16 give int32. Raises UserError if shapes or element types do not
    fit.
    """
    op = Gemv(check_flag("gemv", "transpose", transpose))
    return apply(op, a, x, name=name, device=device)


def _check_rank(side: str, type: TensorType, rank: int, hint: str) -> None:
    if type.rank != rank:
        raise UserError(
            f"the {side} operand of gemv has rank {type.rank}, not {rank}", hints=[hint]
        )
