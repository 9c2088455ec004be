# SPDX-License-Identifier: Apache-2.0
"""separate-reads: gives each reader of an input or constant a separate tensor."""

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

    Bufferization compares each reader of a tensor with all others. Its time grows with the square
    of the number of readers, for example in an unrolled recurrent network. Tensors that are never
    written need no such comparison. Tensors that may be written stay as they are.
    """

    name: ClassVar[str] = "separate-reads"

    def run(self, module: Operation) -> None:
        for op in [op for op in outer_operations(module) if op.name == _TO_TENSOR]:
            if "writable" not in op.attributes:
                _separate(op)


def _separate(op: Operation) -> None:
    """Create a tensor for each use of `op` except the first."""
    uses = [(use.owner, use.operand_number) for use in op.results[0].uses]
    for reader, number in uses[1:]:
        reader.operands[number] = op.clone(InsertionPoint(op)).operation.results[0]
