# SPDX-License-Identifier: Apache-2.0
"""dilate: a tensor with zeros between its elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ops.attributes import check_ints, check_operands, operand_type, user_function


@dataclass(frozen=True)
class Dilate(Operator):
    """Neighbors along dimension d become `steps[d]` apart, with zeros between them."""

    name: ClassVar[str] = "dilate"
    steps: tuple[int, ...]

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        steps = check_ints(self.name, "steps", self.steps, count=x.rank, minimum=1)
        return x.with_shape(
            tuple((size - 1) * step + 1 for size, step in zip(x.sizes, steps, strict=True))
        )

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        sizes = [(size - 1) * step + 1 for size, step in zip(x.shape, self.steps, strict=True)]
        result: Array = np.zeros(sizes, x.dtype)
        result[tuple(slice(None, None, step) for step in self.steps)] = x
        return result

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return ()

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        zeros = builder.fill(0, result, step="zeros")
        return builder.insert_slice(inputs[0], zeros, [0] * result.rank, self.steps)

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def dilate(
    x: Tensor, steps: tuple[int, ...], *, name: str | None = None, device: object = None
) -> Tensor:
    """`x` with `steps[d] - 1` zeros between neighbors along each dimension d.

    A transposed convolution is a convolution of a dilated image. Raises UserError unless there is
    one number, 1 or more, for each dimension.
    """
    rank = operand_type("dilate", x).rank
    counts = check_ints("dilate", "steps", steps, count=rank, minimum=1)
    return apply(Dilate(counts), x, name=name, device=device)
