# SPDX-License-Identifier: Apache-2.0
"""unroll-reductions: computes several iterations of a reduction per load and store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import unscheduled_reductions
from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import (
    Structured,
    body_operations,
    even_part,
    is_used,
    labels,
    shape_of,
)
from xtc.ir.builders.generic import generic, yield_
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.builders.slices import subview
from xtc.ir.mlir import Block, InsertionPoint, MemRefType, Operation, Value
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class UnrollReductions(Pass):
    """Compute several iterations of the innermost reduction in one body of an operation.

    The innermost loop must be parallel and have unit stride. Each element of the result is then
    loaded and stored once for these iterations. Their order stays, so no result changes. Each of
    them reads a separate strided view of the operand.

    Before:
        linalg.generic ins(%a) outs(%c) { c + a }                                    // 64 steps
    After:
        linalg.generic ins(%a[0::8], ..., %a[7::8]) outs(%c) { c + a0 + ... + a7 }    // 8 steps

    Attributes:
        factor: the most iterations in one body. A second operation computes the remainder.
    """

    name: ClassVar[str] = "unroll-reductions"
    factor: int = 8

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for nest in unscheduled_reductions(module):
                loop = _loop(nest)
                if loop is not None:
                    _unroll(nest, loop, self.factor)


def _loop(nest: Structured) -> int | None:
    """The reduction to unroll: the innermost one with more than one iteration."""
    on_buffers = all(isinstance(operand.type, MemRefType) for operand in nest.op.operands)
    if not on_buffers or nest.vector_loop != len(nest.extents) - 1:
        return None
    return next((loop for loop in reversed(nest.reductions) if nest.extents[loop] > 1), None)


def _unroll(nest: Structured, loop: int, factor: int) -> None:
    extent = nest.extents[loop]
    steps = even_part(extent, min(extent, factor))
    if steps == 1:
        return
    rest = extent % steps
    with nest.op.location:
        _Part(nest, loop, 0, extent - rest, steps).build()
        if rest:
            _Part(nest, loop, extent - rest, rest, rest).build()
    nest.op.erase()


@dataclass(frozen=True)
class _Part:
    """Iterations `start` to `start + count` of a reduction, `steps` of them in a body."""

    nest: Structured
    loop: int
    start: int
    count: int
    steps: int

    def build(self) -> None:
        """Build the operation that computes them, before the original."""
        nest, ip = self.nest, InsertionPoint(self.nest.op)
        numbers: dict[tuple[int, int], int] = {}
        operands: list[tuple[Value, Sequence[Index]]] = []
        for number in range(nest.destination):
            for step in range(self._copies(number)):
                numbers[number, step] = len(operands)
                operands.append(self._operand(number, step, ip))
        operands.append((nest.op.operands[nest.destination], nest.indices[nest.destination]))
        op = generic(operands, len(nest.extents), nest.reductions, labels(nest.op), ip)
        self._fill(op.regions[0].blocks[0], numbers)

    def _copies(self, number: int) -> int:
        """The views of an operand: one per step, or one if the steps do not differ."""
        matters = is_used(self.nest.body.arguments[number])
        return self.steps if matters and self.nest.uses_loop(number, self.loop) else 1

    def _operand(self, number: int, step: int, ip: InsertionPoint) -> tuple[Value, Sequence[Index]]:
        """The view that step `step` of every body reads, and its index."""
        value, row = self.nest.op.operands[number], self.nest.indices[number]
        if not self.nest.uses_loop(number, self.loop):
            return value, row
        extents = list(self.nest.extents)
        extents[self.loop] = self.count // self.steps
        offsets, sizes, strides, indices = [], [], [], []
        for index, size in zip(row, shape_of(value), strict=True):
            factor = index.factor(self.loop)
            plain = index.loop == self.loop
            new = index if plain or not factor else index.scaled(self.loop, self.steps)
            offsets.append(factor * (self.start + step))
            sizes.append(new.reach(extents) if factor else size)
            strides.append(self.steps if plain else 1)
            indices.append(new)
        return subview(value, offsets, sizes, strides, ip), indices

    def _fill(self, block: Block, numbers: dict[tuple[int, int], int]) -> None:
        """Write the body once per step, each with the result of the step before."""
        arguments = self.nest.body.arguments
        total = block.arguments[len(block.arguments) - 1]
        *ops, end = body_operations(self.nest.op)
        for step in range(self.steps):
            values: dict[Value, Value] = {arguments[self.nest.destination]: total}
            for number in range(self.nest.destination):
                number_of = numbers.get((number, step), numbers[number, 0])
                values[arguments[number]] = block.arguments[number_of]
            for op in ops:
                _copy(op, values, InsertionPoint(block))
            total = values.get(end.operands[0], end.operands[0])
        yield_([total], InsertionPoint(block))


def _copy(op: Operation, values: dict[Value, Value], ip: InsertionPoint) -> None:
    """Append a copy of a body's operation, with operands and results renamed by `values`."""
    operands = [values.get(operand, operand) for operand in op.operands]
    copy = rebuilt(op, operands, [result.type for result in op.results], ip=ip)
    values.update(zip(op.results, copy.results, strict=True))
