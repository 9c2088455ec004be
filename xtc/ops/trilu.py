# SPDX-License-Identifier: Apache-2.0
"""trilu: the upper or lower triangle of matrices, zeros elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_flag, check_int, check_operands, user_function
from xtc.ops.elementwise import dim_loops, emit_elementwise


@dataclass(frozen=True)
class Trilu(Operator):
    """Elements on one side of a diagonal of the last two dimensions, the diagonal included.

    The diagonal starts `diagonal` columns right of the first.
    """

    name: ClassVar[str] = "trilu"
    diagonal: int = 0
    upper: bool = True

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        check_int(self.name, "diagonal", self.diagonal)
        check_flag(self.name, "upper", self.upper)
        if x.rank < 2:
            raise UserError(f"the operand of trilu has rank {x.rank}, not 2 or more")
        return x

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        return np.triu(x, self.diagonal) if self.upper else np.tril(x, self.diagonal)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(inputs[0].rank)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(scalars: ScalarBuilder, x: Scalar, _old: Scalar) -> Scalar:
            row, column = scalars.index(result.rank - 2), scalars.index(result.rank - 1)
            start = scalars.add(row, scalars.constant(self.diagonal, row.element))
            kept = scalars.compare("ge" if self.upper else "le", column, start)
            return scalars.select(kept, x, scalars.constant(0, x.element))

        return emit_elementwise(builder, inputs, result, body)

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def trilu(
    x: Tensor,
    *,
    diagonal: int = 0,
    upper: bool = True,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The matrices in the last two dimensions of `x` with zeros below, or above, a diagonal.

    `diagonal` is 0 for the main one, positive for those right of it. Raises UserError for ranks
    below 2.
    """
    return apply(Trilu(diagonal, upper), x, name=name, device=device)
