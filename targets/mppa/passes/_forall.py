# SPDX-License-Identifier: Apache-2.0
"""Parallel loops on buffers: their iteration counts and indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.core.errors import CompileError
from xtc.ir.builders import numbers
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import DenseI64ArrayAttr, InsertionPoint, Operation

_DYNAMIC = -(1 << 63)
_BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")


@dataclass(frozen=True)
class Dimension:
    """One index: its first value, number of values, and step."""

    lower: Offset
    count: Offset
    step: Offset


def dimensions(loop: Operation) -> list[Dimension]:
    """The indices of a forall; computed at the current insertion point if not constant.

    Raises CompileError for a forall on tensors.
    """
    if len(loop.results):
        raise CompileError("a parallel loop is on tensors", where=str(loop.location))
    operands = iter(loop.operands)
    lower, upper, step = (
        [
            next(operands) if bound == _DYNAMIC else bound
            for bound in DenseI64ArrayAttr(loop.attributes[n])
        ]
        for n in _BOUNDS
    )
    return [
        Dimension(first, numbers.trip_count(first, last, by), by)
        for first, last, by in zip(lower, upper, step, strict=True)
    ]


def total(dims: Sequence[Dimension]) -> Offset:
    """The total number of iterations."""
    count: Offset = 1
    for dim in dims:
        count = numbers.multiply(count, dim.count)
    return count


def move_body(
    loop: Operation, dims: Sequence[Dimension], iteration: Offset, end: Operation
) -> None:
    """Move the body before `end`, for the iteration of this number; the last index is fastest."""
    block = loop.regions[0].blocks[0]
    with InsertionPoint(end):
        positions = _positions(dims, iteration)
        for argument, position in zip(block.arguments, positions, strict=True):
            argument.replace_all_uses_with(numbers.as_value(position))
    for op in list(block.operations)[:-1]:
        op.operation.move_before(end)


def _positions(dims: Sequence[Dimension], iteration: Offset) -> list[Offset]:
    positions: list[Offset] = []
    for position, dim in reversed(list(enumerate(dims))):
        number = iteration
        if position > 0:
            number = numbers.remainder(iteration, dim.count)
            iteration = numbers.divide(iteration, dim.count)
        positions.append(numbers.add(numbers.multiply(number, dim.step), dim.lower))
    return positions[::-1]
