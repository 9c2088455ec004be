# SPDX-License-Identifier: Apache-2.0
"""transpose: dimensions in another order."""

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
from xtc.ops.attributes import (
    check_ints,
    check_operands,
    check_permutation,
    operand_type,
    user_function,
)
from xtc.ops.elementwise import dim_loops


@dataclass(frozen=True)
class Transpose(Operator):
    """Dimension d of the result is dimension `axes[d]` of the operand."""

    name: ClassVar[str] = "transpose"
    axes: tuple[int, ...]

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        axes = check_ints(self.name, "axes", self.axes, minimum=0)
        check_permutation(self.name, "axes", axes, x.rank)
        if not x.is_static and axes[0] != 0:
            raise UserError(
                f"axes of transpose is {axes}",
                notes=[f"the symbolic dimension '{x.shape[0]}' stays first"],
            )
        return x.with_shape(tuple(x.shape[axis] for axis in axes))

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        return np.transpose(x, self.axes)

    @property
    def _moves_nothing(self) -> bool:
        return self.axes == tuple(range(len(self.axes)))

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return () if self._moves_nothing else dim_loops(len(self.axes))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        (x,) = inputs
        return x if self._moves_nothing else builder.transpose(x, self.axes, self.loops(x.type))

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def transpose(
    x: Tensor,
    axes: object = None,
    *,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """`x` with its dimensions in the order `axes`, reversed where None.

    Negative axes count from the end. A symbolic first dimension stays first. Raises UserError
    unless `axes` names every dimension once.
    """
    rank = operand_type("transpose", x).rank
    wanted = tuple(reversed(range(rank))) if axes is None else axes
    op = Transpose(check_permutation("transpose", "axes", wanted, rank))
    return apply(op, x, name=name, device=device)
