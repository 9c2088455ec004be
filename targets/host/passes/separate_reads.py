# SPDX-License-Identifier: Apache-2.0
"""separate-reads: each operation that reads a buffer as a tensor has a separate tensor of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import InsertionPoint, Operation, outer_operations
from xtc.ir.passes import Pass

_TO_TENSOR = "bufferization.to_tensor"


@dataclass(frozen=True)
class SeparateReads(Pass):
    """Give each reader of an input or a constant a separate tensor of that buffer.

    Before:
        %t = bufferization.to_tensor %weights
        %a = linalg.matmul ins(%x, %t); %b = linalg.matmul ins(%a, %t)
    After:
        %t0 = bufferization.to_tensor %weights; %t1 = bufferization.to_tensor %weights
        %a = linalg.matmul ins(%x, %t0); %b = linalg.matmul ins(%a, %t1)

    Bufferization compares each reader of a tensor with all others, which takes time that grows with
    the square of the steps of an unrolled recurrent network. What is never written need not be
    compared. Tensors that may be written stay as they are.
    """

    name: ClassVar[str] = "separate-reads"

    def run(self, module: Operation) -> None:
        for op in [op for op in outer_operations(module) if op.name == _TO_TENSOR]:
            if "writable" not in op.attributes:
                _separate(op)


def _separate(op: Operation) -> None:
    """A tensor for each use of `op` but one."""
    uses = [(use.owner, use.operand_number) for use in op.results[0].uses]
    for reader, number in uses[1:]:
        reader.operands[number] = op.clone(InsertionPoint(op)).operation.results[0]
