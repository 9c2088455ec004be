# SPDX-License-Identifier: Apache-2.0
"""Makes index arithmetic, loops and branches, at the current insertion point.

An offset is a number where it is known, and an index value where it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from xtc.ir.builders.tensors import Offset
from xtc.ir.mlir import (
    Block,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    OpResult,
    Type,
    Value,
)

_LESS, _EQUAL, _NOT_EQUAL, _GREATER = 2, 0, 1, 4  # arith.cmpi: slt, eq, ne, sgt


def constant(number: int, type: Type | None = None) -> Value:
    """A constant, of type index unless another one is given."""
    kind = type or IndexType.get()
    attributes = {"value": IntegerAttr.get(kind, number)}
    return Operation.create("arith.constant", results=[kind], attributes=attributes).results[0]


def value(offset: Offset) -> Value:
    """An offset as a value."""
    return constant(offset) if isinstance(offset, int) else offset


def known(offset: Value) -> Offset:
    """A value as a number where it is a constant."""
    if isinstance(offset, OpResult) and offset.owner.name == "arith.constant":
        return int(IntegerAttr(offset.owner.attributes["value"]).value)
    return offset


def _binary(name: str, a: Offset, b: Offset) -> Value:
    operands = [value(a), value(b)]
    return Operation.create(name, results=[operands[0].type], operands=operands).results[0]


def add(a: Offset, b: Offset) -> Offset:
    """The sum."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if 0 in (x for x in (a, b) if isinstance(x, int)):
        return b if isinstance(a, int) else a
    return _binary("arith.addi", a, b)


def subtract(a: Offset, b: Offset) -> Offset:
    """The difference."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if isinstance(b, int) and b == 0:
        return a
    return _binary("arith.subi", a, b)


def multiply(a: Offset, b: Offset) -> Offset:
    """The product."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    factors = [x for x in (a, b) if isinstance(x, int)]
    if 0 in factors:
        return 0
    if 1 in factors:
        return b if isinstance(a, int) else a
    return _binary("arith.muli", a, b)


def divide(a: Offset, b: Offset) -> Offset:
    """The quotient of numbers that are not negative."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if isinstance(b, int) and b == 1:
        return a
    return _binary("arith.divsi", a, b)


def remainder(a: Offset, b: Offset) -> Offset:
    """What is left by the division of numbers that are not negative."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if isinstance(b, int) and b == 1:
        return 0
    return _binary("arith.remsi", a, b)


def minimum(a: Offset, b: Offset) -> Offset:
    """The smaller one."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return _binary("arith.minsi", a, b)


def trips(lower: Offset, upper: Offset, step: Offset) -> Offset:
    """Iterations of a loop, 0 where it has none."""
    rounded = subtract(add(subtract(upper, lower), step), 1)
    if isinstance(rounded, int) and isinstance(step, int):
        return max(0, rounded // step)
    return divide(_binary("arith.maxsi", rounded, 0), step)


def _compare(predicate: int, a: Offset, b: Offset) -> Value:
    operands = [value(a), value(b)]
    return Operation.create(
        "arith.cmpi",
        results=[IntegerType.get_signless(1)],
        operands=operands,
        attributes={"predicate": IntegerAttr.get(IntegerType.get_signless(64), predicate)},
    ).results[0]


def less(a: Offset, b: Offset) -> Value | bool:
    """Whether `a < b`."""
    return a < b if isinstance(a, int) and isinstance(b, int) else _compare(_LESS, a, b)


def equal(a: Value, b: Offset) -> Value:
    """Whether `a == b`."""
    return _compare(_EQUAL, a, b)


def differs(a: Value, b: Offset) -> Value:
    """Whether `a != b`."""
    return _compare(_NOT_EQUAL, a, b)


@contextmanager
def branch(condition: Value | bool) -> Iterator[None]:
    """What is made inside happens where `condition` holds, which may be known to be true."""
    if condition is True:
        yield
        return
    op = Operation.create("scf.if", operands=[cast(Value, condition)], regions=2)
    block = op.regions[0].blocks.append()
    with InsertionPoint(block):
        yield
        Operation.create("scf.yield")


@contextmanager
def loop(lower: Offset, upper: Offset, step: Offset) -> Iterator[Value]:
    """What is made inside happens for each index."""
    with InsertionPoint(_end(for_loop(lower, upper, step))) as ip:
        yield ip.block.arguments[0]


def for_loop(lower: Offset, upper: Offset, step: Offset) -> Operation:
    """An empty loop, which has its last operation."""
    op = Operation.create(
        "scf.for", operands=[value(one) for one in (lower, upper, step)], regions=1
    )
    block: Block = op.regions[0].blocks.append(IndexType.get())
    Operation.create("scf.yield", ip=InsertionPoint(block))
    return op


def _end(op: Operation) -> Operation:
    return list(op.regions[0].blocks[0].operations)[-1].operation


def index_cast(number: Value, type: Type) -> Value:
    """A number in another width; index to integer and back."""
    return Operation.create("arith.index_cast", results=[type], operands=[number]).results[0]
