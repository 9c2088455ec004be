# SPDX-License-Identifier: Apache-2.0
"""Makes loops over clusters and over the processing elements of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.tensors import Offset, insert_in_parallel
from xtc.ir.mlir import (
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineMapAttr,
    Attribute,
    Block,
    DenseI32ArrayAttr,
    DenseI64ArrayAttr,
    IndexType,
    InsertionPoint,
    Operation,
    Value,
)

CLUSTERS = "[#gpu.block<linear_dim_0>]"
PES = "[#gpu.thread<linear_dim_0>]"


@dataclass(frozen=True)
class Forall:
    """A parallel loop whose body is being written.

    Attributes:
        op: the loop.
        body: its block, whose last operation is the terminator.
    """

    op: Operation
    body: Block

    @property
    def number(self) -> Value:
        """The iteration's number."""
        return self.body.arguments[0]

    @property
    def shared(self) -> list[Value]:
        """The tensors that all iterations write."""
        return list(self.body.arguments)[1:]

    @property
    def ip(self) -> InsertionPoint:
        """Where the body goes on."""
        return InsertionPoint.at_block_terminator(self.body)

    def write(self, source: Value, shared: Value, offsets: Sequence[Offset]) -> None:
        """Write a part of what is shared when the iteration ends."""
        end = self.body.operations[len(self.body.operations) - 1].operation
        insert_in_parallel(source, shared, offsets, InsertionPoint(end.regions[0].blocks[0]))

    def write_all(self, sources: Sequence[Value]) -> None:
        """Write everything that is shared; the iterations have changed it in place."""
        for source, shared in zip(sources, self.shared, strict=True):
            self.write(source, shared, [0] * len(shape_of(shared)))


def forall(count: int, mapping: str | None, outs: Sequence[Value], ip: InsertionPoint) -> Forall:
    """`count` iterations at the same time, which write parts of `outs`."""
    places = {} if mapping is None else {"mapping": Attribute.parse(mapping)}
    op = Operation.create(
        "scf.forall",
        [value.type for value in outs],
        list(outs),
        {
            "staticLowerBound": DenseI64ArrayAttr.get([0]),
            "staticUpperBound": DenseI64ArrayAttr.get([count]),
            "staticStep": DenseI64ArrayAttr.get([1]),
            "operandSegmentSizes": DenseI32ArrayAttr.get([0, 0, 0, len(outs)]),
            **places,
        },
        regions=1,
        ip=ip,
    )
    body = op.regions[0].blocks.append(IndexType.get(), *(value.type for value in outs))
    end = Operation.create("scf.forall.in_parallel", regions=1, ip=InsertionPoint(body))
    end.regions[0].blocks.append()
    return Forall(op, body)


def wrap(op: Operation, first: int, mappings: Sequence[str]) -> tuple[Operation, list[Operation]]:
    """Put an operation that writes its operands from number `first` on into loops of one iteration.

    Returns what it is inside, and the loops, outermost first.
    """
    outs = list(op.operands)[first : first + len(op.results)]
    ip = InsertionPoint(op)
    loops: list[Forall] = []
    with op.location:
        for mapping in mappings:
            loops.append(forall(1, mapping, outs, ip))
            outs, ip = loops[-1].shared, loops[-1].ip
        inside = op.clone(ip=ip)
        for number, shared in enumerate(outs):
            inside.operands[first + number] = shared
        results = list(inside.results)
        for loop in reversed(loops):
            loop.write_all(results)
            results = list(loop.op.results)
    for old, new in zip(op.results, results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
    return inside, [loop.op for loop in loops]


def apply(expression: AffineExpr, value: Value, ip: InsertionPoint) -> Value:
    """An affine expression of one index."""
    return _affine("affine.apply", [expression], value, ip)


def minimum(expressions: Sequence[AffineExpr], value: Value, ip: InsertionPoint) -> Value:
    """The least of affine expressions of one index."""
    return _affine("affine.min", expressions, value, ip)


def _affine(
    name: str, expressions: Sequence[AffineExpr], value: Value, ip: InsertionPoint
) -> Value:
    attributes = {"map": AffineMapAttr.get(AffineMap.get(1, 0, list(expressions)))}
    return Operation.create(name, [IndexType.get()], [value], attributes, ip=ip).results[0]


def digits(number: Value, counts: Sequence[int], ip: InsertionPoint) -> list[Offset]:
    """The place of an iteration in a grid of `counts`, the last dimension changing first."""
    found: list[Offset] = []
    below = 1
    first = next((n for n, count in enumerate(counts) if count > 1), -1)
    for position in range(len(counts) - 1, -1, -1):
        count = counts[position]
        if count == 1:
            found.append(0)
            continue
        expression = AffineDimExpr.get(0)
        if below > 1:
            expression = AffineExpr.get_floor_div(expression, below)
        if position != first:
            expression = AffineExpr.get_mod(expression, count)
        found.append(
            number if expression == AffineDimExpr.get(0) else apply(expression, number, ip)
        )
        below *= count
    return found[::-1]
