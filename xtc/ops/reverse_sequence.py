# SPDX-License-Identifier: Apache-2.0
"""reverse_sequence: the first elements of each sequence of a batch in reverse order."""

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
from xtc.ops.attributes import check_axis, check_operands, operand_type, user_function
from xtc.ops.elementwise import DIM_NAMES, dim_loops
from xtc.ops.gathering import INDEX, emit_gather, require_indices


@dataclass(frozen=True)
class ReverseSequence(Operator):
    """Along `time_axis`, the first `lengths[b]` elements of batch element b from last to first."""

    name: ClassVar[str] = "reverse_sequence"
    batch_axis: int = 1
    time_axis: int = 0

    def infer(self, *inputs: TensorType) -> TensorType:
        x, lengths = check_operands(self.name, inputs, 2)
        require_indices(self.name, lengths)
        axes = [
            check_axis(self.name, attribute, getattr(self, attribute), x.rank)
            for attribute in ("batch_axis", "time_axis")
        ]
        if axes[0] == axes[1]:
            raise UserError(f"batch_axis and time_axis of reverse_sequence are both {axes[0]}")
        if lengths.shape != (x.shape[axes[0]],):
            raise UserError(
                f"the lengths of reverse_sequence have shape {lengths.shape}, "
                f"not {(x.shape[axes[0]],)}"
            )
        return x

    def reference(self, *arrays: Array) -> Array:
        x, lengths = arrays
        result = np.moveaxis(x, (self.batch_axis, self.time_axis), (0, 1)).copy()
        for row, length in zip(result, lengths, strict=True):
            count = int(np.clip(length, 0, len(row)))
            row[:count] = row[:count][::-1].copy()
        return np.moveaxis(result, (0, 1), (self.batch_axis, self.time_axis))

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(inputs[0].rank)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x, lengths = inputs
        batch, time = self.batch_axis % result.rank, self.time_axis % result.rank

        def position(body: ScalarBuilder, length: Scalar) -> list[Scalar]:
            indices = [body.index(d) for d in range(result.rank)]
            count = body.cast(length, INDEX)
            last = body.sub(count, body.constant(1, INDEX))
            inside = body.compare("lt", indices[time], count)
            turned = body.select(inside, body.sub(last, indices[time]), indices[time])
            indices[time] = body.clamp(turned, result.sizes[time])
            return indices

        return emit_gather(builder, x, result, position, [(lengths, (DIM_NAMES[batch],))])

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def reverse_sequence(
    x: Tensor,
    lengths: Tensor,
    *,
    batch_axis: int = 1,
    time_axis: int = 0,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """`x` with the first `lengths[b]` elements along time in reverse order, for each sequence b.

    `lengths` are integers, at most the size of the time axis. Raises UserError if axes or shapes
    do not fit.
    """
    rank = operand_type("reverse_sequence", x).rank
    op = ReverseSequence(
        check_axis("reverse_sequence", "batch_axis", batch_axis, rank),
        check_axis("reverse_sequence", "time_axis", time_axis, rank),
    )
    return apply(op, x, lengths, name=name, device=device)
