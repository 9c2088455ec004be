# SPDX-License-Identifier: Apache-2.0
"""Parallel loops as numbered iterations; the last index is the fastest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xtc.ir.builders.numbers import index_constant
from xtc.ir.mlir import (
    Block,
    DenseI64ArrayAttr,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    OpResult,
    Value,
)

_LESS_UNSIGNED = 6  # arith.cmpi: ult


def extents(loop: Operation) -> list[range] | None:
    """The values of each index of an scf.parallel; None where they are not known."""
    numbers = [known(value) for value in loop.operands]
    rank = len(loop.regions[0].blocks[0].arguments)
    found = [number for number in numbers if number is not None]
    if len(found) < len(numbers) or len(loop.results):
        return None
    return [range(*found[position::rank]) for position in range(rank)]


def count(ranges: Sequence[range]) -> int:
    """The number of iterations."""
    return math.prod(len(values) for values in ranges)


def known(value: Value) -> int | None:
    """The number that `value` is; None where it is no constant."""
    if isinstance(value, OpResult) and value.owner.name == "arith.constant":
        return int(IntegerAttr(value.owner.attributes["value"]).value)
    return None


def place(name: str, ip: InsertionPoint) -> Value:
    """Where a thread, or a block, is: one of the operations of `_kernels`, as an index."""
    found = Operation.create(name, [IntegerType.get_signless(32)], ip=ip).results[0]
    return Operation.create("arith.index_castui", [IndexType.get()], [found], ip=ip).results[0]


def binary(name: str, a: Value, b: Value, ip: InsertionPoint) -> Value:
    """An operation on two indices."""
    return Operation.create(name, [IndexType.get()], [a, b], ip=ip).results[0]


def where_below(number: Value, bound: int | Value, ip: InsertionPoint) -> Operation:
    """The end of a new block that runs where `number` is below `bound`."""
    attributes = {"predicate": IntegerAttr.get(IntegerType.get_signless(64), _LESS_UNSIGNED)}
    operands = [number, index_constant(bound, ip) if isinstance(bound, int) else bound]
    i1 = IntegerType.get_signless(1)
    inside = Operation.create("arith.cmpi", [i1], operands, attributes, ip=ip).results[0]
    branch = Operation.create("scf.if", operands=[inside], regions=2, ip=ip)
    return _ended(Block.create_at_start(branch.regions[0]))


def steps(first: Value, bound: int, step: int, ip: InsertionPoint) -> tuple[Value, Operation]:
    """A new loop from `first` to `bound`: its counter, and the end of its body."""
    operands = [first, index_constant(bound, ip), index_constant(step, ip)]
    loop = Operation.create("scf.for", operands=operands, regions=1, ip=ip)
    body = loop.regions[0].blocks.append(IndexType.get())
    return body.arguments[0], _ended(body)


def _ended(body: Block) -> Operation:
    with InsertionPoint(body):
        return Operation.create("scf.yield")


def move_body(
    loop: Operation, ranges: Sequence[range | None], number: Value, end: Operation
) -> None:
    """Move the body of a parallel loop before `end`, for iteration `number`.

    The first index may have an unknown range, from 0 by steps of 1: None.
    """
    ip = InsertionPoint(end)
    body = loop.regions[0].blocks[0]
    sizes = {
        "static_basis": DenseI64ArrayAttr.get(
            [len(values) for values in ranges if values is not None]
        )
    }
    results = [IndexType.get()] * len(ranges)
    places = Operation.create("affine.delinearize_index", results, [number], sizes, ip=ip).results
    for argument, extent, value in zip(body.arguments, ranges, places, strict=True):
        index: Value = value
        extent = extent or range(1)
        if extent.step != 1:
            index = binary("arith.muli", index, index_constant(extent.step, ip), ip)
        if extent.start != 0:
            index = binary("arith.addi", index, index_constant(extent.start, ip), ip)
        argument.replace_all_uses_with(index)
    for op in list(body.operations)[:-1]:
        op.operation.move_before(end)
