# SPDX-License-Identifier: Apache-2.0
"""Bodies of linalg operations that products are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.mlir import Block, FloatType, InsertionPoint, Operation, Type, Value


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

    def create(self, name: str, type: Type, *operands: Value) -> Value:
        """The result of one more operation; `name` is that of one of the dialect arith."""
        return Operation.create(f"arith.{name}", [type], list(operands), ip=self.end).results[0]

    def finish(self, value: Value) -> None:
        """Let the body compute `value`."""
        Operation.create("linalg.yield", operands=[value], ip=self.end)


def write_multiply_add(op: Operation, widenings: Sequence[str] = ()) -> None:
    """The third element plus the product of the others, which are widened by these operations."""
    write = BodyWriter.of(op)
    *factors, total = write.block.arguments
    type = total.type
    if widenings:
        pairs = zip(widenings, factors, strict=True)
        factors = [write.create(name, type, value) for name, value in pairs]
    kind = "f" if isinstance(type, FloatType) else "i"
    product = write.create(f"mul{kind}", type, *factors)
    write.finish(write.create(f"add{kind}", type, total, product))
