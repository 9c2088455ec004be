# SPDX-License-Identifier: Apache-2.0
"""Bodies of contractions, and of the operations that prepare their operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xtc.ir.builders.generic import yield_
from xtc.ir.mlir import Block, FloatType, InsertionPoint, Operation, Type, Value, arith

Constructor = Callable[..., Value]
"""A constructor of an arith operation, such as `arith.addf`."""


@dataclass(frozen=True)
class BodyWriter:
    """Appends operations to the body of a linalg operation."""

    block: Block

    @staticmethod
    def of(op: Operation) -> BodyWriter:
        """A writer for the empty body of an operation."""
        return BodyWriter(op.regions[0].blocks[0])

    @property
    def end(self) -> InsertionPoint:
        """The insertion point of the next operation."""
        return InsertionPoint(self.block)

    def op(self, make: Constructor, *operands: Value | Type) -> Value:
        """Append an operation, built by a constructor such as `arith.addf`; returns its result."""
        return make(*operands, ip=self.end)

    def finish(self, value: Value) -> None:
        """Let the body compute `value`."""
        yield_([value], self.end)


def write_multiply_add(op: Operation, widenings: Sequence[Constructor] = ()) -> None:
    """Compute `c + a * b`, with a and b widened by the operations in `widenings`."""
    write = BodyWriter.of(op)
    *operands, total = write.block.arguments
    type = total.type
    if widenings:
        pairs = zip(widenings, operands, strict=True)
        operands = [write.op(widen, type, value) for widen, value in pairs]
    is_float = isinstance(type, FloatType)
    multiplied = write.op(arith.mulf if is_float else arith.muli, *operands)
    write.finish(write.op(arith.addf if is_float else arith.addi, total, multiplied))
