# SPDX-License-Identifier: Apache-2.0
"""unpad: a tensor without its border, the inverse of pad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.core.types import Dim, TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ops.attributes import check_operands, operand_type, user_function
from xtc.ops.border import Border, border_of, check_border


@dataclass(frozen=True)
class Unpad(Operator):
    """Dimension d loses `padding[d] = (before, after)` elements at its two ends."""

    name: ClassVar[str] = "unpad"
    padding: Border

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        check_border(self.name, self.padding, x)
        return x.with_shape(tuple(self._cropped(x, position) for position in range(x.rank)))

    def _cropped(self, x: TensorType, position: int) -> Dim:
        dim, (before, after) = x.shape[position], self.padding[position]
        if isinstance(dim, str):
            return dim
        if before + after >= dim:
            raise UserError(
                f"padding[{position}] of unpad is {(before, after)}, "
                f"which leaves nothing of dimension {position} of size {dim}"
            )
        return dim - before - after

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        ends = zip(x.shape, self.padding, strict=True)
        return x[tuple(slice(before, size - after) for size, (before, after) in ends)]

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return ()

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        offsets = [before for before, _ in self.padding]
        return builder.extract_slice(inputs[0], offsets, result.sizes, [1] * result.rank)

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def unpad(x: Tensor, padding: object, *, name: str | None = None, device: object = None) -> Tensor:
    """`x` without `padding[d] = (before, after)` elements at the ends of each dimension d.

    `padding` is written as that of `pad`. A symbolic dimension is not cropped. Raises UserError for
    negative or missing entries, and if a dimension would become empty.
    """
    type = operand_type("unpad", x)
    return apply(Unpad(border_of("unpad", padding, type)), x, name=name, device=device)
