# SPDX-License-Identifier: Apache-2.0
"""Bodies of contractions, and of the operations that prepare their operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xtc.ir.builders.generic import yield_
from xtc.ir.mlir import Block, FloatType, InsertionPoint, Operation, Type, Value, arith

Make = Callable[..., Value]
"""A constructor of an arith operation, such as `arith.addf`."""


@dataclass(frozen=True)
class BodyWriter:
    """Appends operations to the body of a linalg operation."""

    block: Block

    @staticmethod
    def of(op: Operation) -> BodyWriter:
        """For the body of an operation that has none yet."""
        return BodyWriter(op.regions[0].blocks[0])

    @property
    def end(self) -> InsertionPoint:
        """Where the next operation goes."""
        return InsertionPoint(self.block)

    def op(self, make: Make, *operands: Value | Type) -> Value:
        """The result of one more operation, made by a constructor such as `arith.addf`."""
        return make(*operands, ip=self.end)

    def finish(self, value: Value) -> None:
        """Let the body compute `value`."""
        yield_([value], self.end)


def write_multiply_add(op: Operation, widenings: Sequence[Make] = ()) -> None:
    """The third element plus the product of the others, which are widened by these operations."""
    write = BodyWriter.of(op)
    *factors, total = write.block.arguments
    type = total.type
    if widenings:
        pairs = zip(widenings, factors, strict=True)
        factors = [write.op(widen, type, value) for widen, value in pairs]
    is_float = isinstance(type, FloatType)
    product = write.op(arith.mulf if is_float else arith.muli, *factors)
    write.finish(write.op(arith.addf if is_float else arith.addi, total, product))
