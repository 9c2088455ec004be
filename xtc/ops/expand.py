# SPDX-License-Identifier: Apache-2.0
"""expand: a tensor broadcast to a shape."""

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
from xtc.ops.attributes import check_ints, check_operands, user_function
from xtc.ops.elementwise import broadcast_shape, dim_loops, emit_elementwise


@dataclass(frozen=True)
class Expand(Operator):
    """x repeated along new leading dimensions, and along those of size 1."""

    name: ClassVar[str] = "expand"
    shape: tuple[int, ...]

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        wanted = x.with_shape(check_ints(self.name, "shape", self.shape, minimum=1))
        if wanted.rank < x.rank or broadcast_shape(self.name, (x, wanted)) != wanted.shape:
            raise UserError(f"shape {x.shape} does not broadcast to {wanted.shape}")
        return wanted

    def reference(self, *arrays: Array) -> Array:
        return np.broadcast_to(arrays[0], self.shape)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(len(self.shape))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(_scalars: ScalarBuilder, x: Scalar, _old: Scalar) -> Scalar:
            return x

        return emit_elementwise(builder, inputs, result, body)

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def expand(
    x: Tensor, shape: tuple[int, ...], *, name: str | None = None, device: object = None
) -> Tensor:
    """`x` broadcast to `shape`, as NumPy's `broadcast_to`.

    Raises UserError if the shape of `x` does not broadcast to it.
    """
    sizes = check_ints("expand", "shape", shape, minimum=1)
    return apply(Expand(sizes), x, name=name, device=device)
