# SPDX-License-Identifier: Apache-2.0
"""Float sum reductions on buffers: recognizes them, and sums parts of their iterations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import Structured, body_operations, labels, shape_of
from xtc.ir.builders.generic import copy_body, generic, yield_
from xtc.ir.builders.numbers import Number, multiply
from xtc.ir.builders.slices import Offset, subview
from xtc.ir.mlir import FloatType, InsertionPoint, MemRefType, Operation, Value, arith

_SUM = "arith.addf"


@dataclass(frozen=True)
class Range:
    """Iterations of a loop: `size` of them, from `start` on."""

    start: Number
    size: int


@dataclass(frozen=True)
class FloatSum:
    """A linalg operation on buffers whose last destination is a float sum reduction.

    Attributes:
        nest: the operation.
        combine: the addition in its body.
    """

    nest: Structured
    combine: Operation

    @staticmethod
    def of(nest: Structured) -> FloatSum | None:
        """The sum reduction; None for other operations."""
        if not all(isinstance(value.type, MemRefType) for value in _shaped(nest)):
            return None
        if not isinstance(nest.op.operands[nest.destination].type.element_type, FloatType):
            return None
        if any(index.loop is None for index in nest.indices[nest.destination]):
            return None
        *_, end = body_operations(nest.op)
        total = nest.body.arguments[nest.destination]
        users = [use.owner.operation for use in total.uses]
        new = end.operands[len(end.operands) - 1]
        if len(users) != 1 or users[0].name != _SUM or new not in users[0].results:
            return None
        return FloatSum(nest, users[0])

    @property
    def length(self) -> int:
        """The number of elements that are summed per element of the result."""
        return math.prod(self.nest.extents[loop] for loop in self.nest.reductions)

    @property
    def destinations(self) -> int:
        """The number of buffers that the operation writes."""
        return int(list(self.nest.op.attributes["operandSegmentSizes"])[1])

    @property
    def total(self) -> Value:
        """The buffer that the elements are accumulated in."""
        return self.nest.op.operands[self.nest.destination]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of a dense buffer for the result."""
        return tuple(self.nest.extents[loop] for loop in self.nest.out)

    def add_part(
        self, loop: int, part: Range, into: Value, ip: InsertionPoint, *, lanes: bool = False
    ) -> Operation:
        """Add a part of a reduction's iterations to a dense buffer, or to `total`.

        With `lanes`, the buffer has a last dimension for these iterations, which stay separate.
        """
        nest = self.nest
        operands: list[tuple[Value, Sequence[Index]]] = []
        for number in range(nest.destination):
            operands.append((self._view(number, loop, part, ip), nest.indices[number]))
        row = _plain([*nest.out, loop] if lanes else nest.out)
        operands.append((into, nest.indices[nest.destination] if into == self.total else row))
        kept = [other for other in nest.reductions if not (lanes and other == loop)]
        described = labels(nest.op)
        count = self.destinations
        op = generic(operands, len(nest.extents), kept, described, ip, destinations=count)
        copy_body(nest.op, op)
        return op

    def _view(self, number: int, loop: int, part: Range, ip: InsertionPoint) -> Value:
        """The part of an operand that these iterations access."""
        nest, value = self.nest, self.nest.op.operands[number]
        if not nest.uses_loop(number, loop):
            return value
        extents = list(nest.extents)
        extents[loop] = part.size
        offsets: list[Offset] = []
        sizes = []
        for index, size in zip(nest.indices[number], shape_of(value), strict=True):
            factor = index.factor(loop)
            offsets.append(multiply(part.start, factor, ip))
            sizes.append(index.reach(extents) if factor else size)
        return subview(value, offsets, sizes, [1] * len(sizes), ip)


def add_up(part: Value, total: Value, ip: InsertionPoint) -> None:
    """Add a buffer to another of the same shape, element by element."""
    row = _plain(range(len(shape_of(part))))
    op = generic([(part, row), (total, row)], len(row), (), {}, ip)
    element, old = op.regions[0].blocks[0].arguments
    inside = InsertionPoint(op.regions[0].blocks[0])
    yield_([arith.addf(old, element, ip=inside)], inside)


def _shaped(nest: Structured) -> list[Value]:
    """The operands with dimensions, and always the destination."""
    values = list(nest.op.operands)
    return [v for v, row in zip(values, nest.indices, strict=True) if row] + values[-1:]


def _plain(loops: Iterable[int]) -> list[Index]:
    return [Index(((loop, 1),), 0) for loop in loops]
