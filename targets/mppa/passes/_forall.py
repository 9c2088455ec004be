# SPDX-License-Identifier: Apache-2.0
"""Parallel loops on buffers: how many iterations there are, and what their indices are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.core.errors import CompileError
from xtc.ir.builders.tensors import Offset
from xtc.ir.mlir import DenseI64ArrayAttr, InsertionPoint, Operation
from xtc_passes.local import _control as control

_DYNAMIC = -(1 << 63)
_BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")


@dataclass(frozen=True)
class Dimension:
    """One index: its first value, how many values it has, and how far they are apart."""

    lower: Offset
    count: Offset
    step: Offset


def dimensions(loop: Operation) -> list[Dimension]:
    """The indices of a forall; computed at the current insertion point where not constant.

    Raises CompileError for one that is not on buffers.
    """
    if len(loop.results):
        raise CompileError("a parallel loop is on tensors", where=str(loop.location))
    operands = iter(loop.operands)
    lower, upper, step = (
        [
            next(operands) if one == _DYNAMIC else one
            for one in DenseI64ArrayAttr(loop.attributes[n])
        ]
        for n in _BOUNDS
    )
    return [
        Dimension(first, control.trips(first, last, by), by)
        for first, last, by in zip(lower, upper, step, strict=True)
    ]


def total(dims: Sequence[Dimension]) -> Offset:
    """All iterations."""
    count: Offset = 1
    for dim in dims:
        count = control.multiply(count, dim.count)
    return count


def move_body(
    loop: Operation, dims: Sequence[Dimension], iteration: Offset, end: Operation
) -> None:
    """Move the body before `end`, for the iteration of that number; the last index is fastest."""
    block = loop.regions[0].blocks[0]
    with InsertionPoint(end):
        places = _places(dims, iteration)
        for argument, place in zip(block.arguments, places, strict=True):
            argument.replace_all_uses_with(control.value(place))
    for op in list(block.operations)[:-1]:
        op.operation.move_before(end)


def _places(dims: Sequence[Dimension], iteration: Offset) -> list[Offset]:
    places: list[Offset] = []
    for position, dim in reversed(list(enumerate(dims))):
        number = iteration
        if position > 0:
            number = control.remainder(iteration, dim.count)
            iteration = control.divide(iteration, dim.count)
        places.append(control.add(control.multiply(number, dim.step), dim.lower))
    return places[::-1]
