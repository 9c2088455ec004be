# SPDX-License-Identifier: Apache-2.0
"""Shared by operators that read each result element at a computed position of an operand.

The operation is a linalg.generic over the result, with loops i, j, k, .... Its body computes the
position from the iteration indices (`ScalarBuilder.index`) and from index operands mapped to the
loops, and reads the element there (`ScalarBuilder.read`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES, TensorType
from xtc.graph.operator import Array, Operator
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import DIM_NAMES, dim_loops

Position = Callable[..., Sequence[Scalar]]
INDEX = ELEMENT_TYPES["int64"]


@dataclass(frozen=True)
class Rearrangement(Operator):
    """A rearrangement: every result element is an element of the single operand."""

    @abstractmethod
    def source(
        self, body: ScalarBuilder, x: TensorType, position: Sequence[Scalar]
    ) -> list[Scalar]:
        """The position in `x` of the element for `position`, both as int64 indices."""

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(self.infer(*inputs).rank)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x = inputs[0]

        def position(body: ScalarBuilder) -> list[Scalar]:
            return self.source(body, x.type, [body.index(d) for d in range(result.rank)])

        return emit_gather(builder, x, result, position)

    def flops(self, *inputs: TensorType) -> int:
        return 0


def emit_gather(
    builder: LinalgBuilder,
    source: Value,
    result: TensorType,
    position: Position,
    indices: Sequence[tuple[Value, Sequence[str]]] = (),
) -> Value:
    """Read every element of `result` from `source` at `position(body, *elements)`.

    `elements` are those of `indices`, operands with their index maps in the result's loops. The
    position, an int64 for each dimension of the source, must be in range.
    """

    def body(scalars: ScalarBuilder, *elements: Scalar) -> Scalar:
        found = position(scalars, *elements[:-1])
        return scalars.read(source.ssa, source.type, found)

    init = (builder.empty(result), DIM_NAMES[: result.rank])
    return builder.generic(list(indices), init, dim_loops(result.rank), body)


def from_end(body: ScalarBuilder, index: Scalar, size: int) -> Scalar:
    """An index of any integer type as an int64 in 0 ... size - 1.

    Negative indices count from the end; out-of-range indices are clamped.
    """
    wide = body.cast(index, INDEX)
    if index.element.signed:
        behind = body.add(wide, body.constant(size, INDEX))
        negative = body.compare("lt", wide, body.constant(0, INDEX))
        wide = body.select(negative, behind, wide)
    return body.clamp(wide, size)


def from_end_reference(indices: Array, size: int) -> Array:
    """`from_end` of arrays."""
    wide = indices.astype(np.int64)
    moved: Array = np.clip(np.where(wide < 0, wide + size, wide), 0, size - 1)
    return moved


def require_indices(name: str, type: TensorType) -> None:
    """Raise UserError unless `type` holds integers."""
    if type.element.kind != "int":
        raise UserError(
            f"the indices of {name} are {type.element}, not integers",
            hints=["O.cast(x, 'int64') converts them"],
        )


def check_within(name: str, what: str, given: TensorType, x: TensorType, axis: int) -> None:
    """Raise UserError unless `given` has the rank of `x` and, except along `axis`, fits inside."""
    fits = given.rank == x.rank and all(
        d == axis or size <= limit
        for d, (size, limit) in enumerate(zip(given.sizes, x.sizes, strict=True))
    )
    if not fits:
        raise UserError(
            f"the {what} of {name} have shape {given.shape}, the operand {x.shape}",
            notes=[f"ranks are equal; except along axis {axis}, no size is larger"],
        )
