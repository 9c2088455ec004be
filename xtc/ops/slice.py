# SPDX-License-Identifier: Apache-2.0
"""slice: every step-th element between two positions of each dimension."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError, shown
from xtc.core.types import Dim, TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ops.attributes import check_int, check_ints, check_operands, operand_type, user_function


@dataclass(frozen=True)
class Slice(Operator):
    """Elements `starts[d] + i * steps[d]` below `stops[d]` of each dimension d.

    A stop of None is the end of a symbolic dimension, which is always taken whole.
    """

    name: ClassVar[str] = "slice"
    starts: tuple[int, ...]
    stops: tuple[int | None, ...]
    steps: tuple[int, ...]

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        starts = check_ints(self.name, "starts", self.starts, count=x.rank, minimum=0)
        stops = _entries("stops", self.stops, x.rank)
        steps = check_ints(self.name, "steps", self.steps, count=x.rank, minimum=1)
        all_bounds = zip(x.shape, starts, stops, steps, strict=True)
        return x.with_shape(tuple(_length(d, *bounds) for d, bounds in enumerate(all_bounds)))

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        all_bounds = zip(self.starts, self.stops, self.steps, strict=True)
        return x[tuple(builtins.slice(*bounds) for bounds in all_bounds)]

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return ()

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        return builder.extract_slice(inputs[0], self.starts, result.sizes, self.steps)

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def slice(
    x: Tensor,
    starts: object,
    stops: object,
    steps: object = None,
    *,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """`x[starts[0]:stops[0]:steps[0], starts[1]:stops[1]:steps[1], ...]` with Python's rules.

    One entry for each dimension. Negative positions count from the end, None is the start or the
    end, positions beyond the end are the end; steps are 1 or more. A symbolic dimension is taken
    whole. Raises UserError if an entry is missing or nothing would be left.
    """
    type = operand_type("slice", x)
    columns = (
        _entries(attribute, value, type.rank)
        for attribute, value in (("starts", starts), ("stops", stops), ("steps", steps))
    )
    all_bounds = [
        _canonical(d, dim, *bounds)
        for d, (dim, *bounds) in enumerate(zip(type.shape, *columns, strict=True))
    ]
    first, last, step = zip(*all_bounds, strict=True) if all_bounds else ((), (), ())
    return apply(Slice(first, last, step), x, name=name, device=device)


def _entries(attribute: str, value: object, rank: int) -> tuple[int | None, ...]:
    """One integer or None for each dimension; None alone stands for all of them."""
    if value is None:
        return (None,) * rank
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise UserError(f"{attribute} of slice is {shown(value)}, not one entry for each dimension")
    if len(value) != rank:
        raise UserError(
            f"{attribute} of slice has {len(value)} entries, but the operand has rank {rank}"
        )
    return tuple(
        None if entry is None else check_int("slice", f"{attribute}[{d}]", entry)
        for d, entry in enumerate(value)
    )


def _canonical(
    d: int, dim: Dim, start: int | None, stop: int | None, step: int | None
) -> tuple[int, int | None, int]:
    step = 1 if step is None else check_int("slice", f"steps[{d}]", step, minimum=1)
    if isinstance(dim, str):
        return start or 0, stop, step
    return builtins.slice(start, stop, step).indices(dim)


def _length(d: int, dim: Dim, start: int, stop: int | None, step: int) -> Dim:
    if isinstance(dim, str):
        if (start, stop, step) != (0, None, 1):
            raise UserError(
                f"dimension {d} of slice, '{dim}', is symbolic and can only be taken whole",
                hints=["write None for its start and stop"],
            )
        return dim
    end = dim if stop is None else stop
    if end > dim:
        raise UserError(f"stops[{d}] of slice is {end}, but dimension {d} has size {dim}")
    if start >= end:
        raise UserError(
            f"slice takes nothing of dimension {d}: it starts at {start} and stops at {end}",
            notes=[f"the dimension has size {dim}"],
        )
    return len(range(start, end, step))
