# SPDX-License-Identifier: Apache-2.0
"""Parallel loops as linear iteration numbers; the last index varies fastest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xtc.ir.builders import numbers
from xtc.ir.builders.affine import delinearized
from xtc.ir.builders.control import new_loop
from xtc.ir.mlir import Block, IndexType, InsertionPoint, Operation, Value, arith, scf
from xtc_targets.nvgpu.passes._thread_code import register


def extents(loop: Operation) -> list[range] | None:
    """The range of each index of an scf.parallel; None if a bound is unknown."""
    bounds = [known(value) for value in loop.operands]
    rank = len(loop.regions[0].blocks[0].arguments)
    found = [number for number in bounds if number is not None]
    if len(found) < len(bounds) or len(loop.results):
        return None
    return [range(*found[position::rank]) for position in range(rank)]


def count(ranges: Sequence[range]) -> int:
    """The number of iterations."""
    return math.prod(len(values) for values in ranges)


def known(value: Value) -> int | None:
    """The value of a constant; None if `value` is not a constant."""
    number = numbers.known(value)
    return number if isinstance(number, int) else None


def position(name: str, ip: InsertionPoint) -> Value:
    """The value of a special register as an index."""
    return arith.index_castui(IndexType.get(), register(name, ip), ip=ip)


def where_below(number: Value, bound: numbers.Number, ip: InsertionPoint) -> Operation:
    """Insertion point in a new branch that runs if `number` is less than `bound`."""
    branch = scf.IfOp(numbers.compare("ult", number, bound, ip), ip=ip)
    return _ended(branch.then_block)


def strided_loop(
    first: Value, bound: int, step: int, ip: InsertionPoint
) -> tuple[Value, Operation]:
    """A new loop from `first` to `bound`: its index, and the insertion point of its body."""
    loop = new_loop(first, bound, step, (), ip)
    return loop.index, _ended(loop.op.regions[0].blocks[0])


def _ended(body: Block) -> Operation:
    end: Operation = scf.YieldOp([], ip=InsertionPoint(body)).operation
    return end


def move_body(
    loop: Operation, ranges: Sequence[range | None], number: Value, end: Operation
) -> None:
    """Move the body of a parallel loop to the insertion point, for iteration `number`.

    The first trip count may be unknown, None; that loop then has lower bound 0 and step 1.
    """
    ip = InsertionPoint(end)
    body = loop.regions[0].blocks[0]
    sizes = [len(values) for values in ranges if values is not None]
    indices = delinearized(number, sizes, ip, unbounded=len(ranges) - len(sizes))
    for argument, extent, value in zip(body.arguments, ranges, indices, strict=True):
        extent = extent or range(1)
        index = numbers.multiply(value, extent.step, ip)
        index = numbers.add(index, extent.start, ip)
        argument.replace_all_uses_with(numbers.as_value(index, ip))
    for op in list(body.operations)[:-1]:
        op.operation.move_before(end)
