# SPDX-License-Identifier: Apache-2.0
"""What operations read and write of buffers, for passes that move transfers across them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xtc.ir.analysis.effects import read_memrefs, written_memrefs
from xtc.ir.analysis.views import root
from xtc.ir.mlir import MemRefType, Operation, Value, all_operations

_ADDRESS = "memref.extract_aligned_pointer_as_index"


def _read_and_written(op: Operation) -> tuple[list[Value], list[Value]]:
    """Operands that an operation itself reads, and that it writes; what is not known does both."""
    if op.name == "memref.dma_start":
        return [op.operands[0]], [dma_target(op)]
    has_others_inside = len(op.regions) and not op.name.startswith("linalg.")
    if has_others_inside or op.name in (_ADDRESS, "memref.dma_wait"):
        return [], []
    return read_memrefs(op), written_memrefs(op)


def dma_target(op: Operation) -> Value:
    """What a `memref.dma_start` writes."""
    return op.operands[1 + MemRefType(op.operands[0].type).rank]


def dma_tag(op: Operation) -> tuple[Value, Value]:
    """The tags and the index among them of a `memref.dma_start` or `memref.dma_wait`."""
    operands = list(op.operands)
    if op.name == "memref.dma_wait":
        return operands[0], operands[1]
    first = 3 + sum(MemRefType(one.type).rank for one in (operands[0], dma_target(op)))
    return operands[first], operands[first + 1]


def writers(around: Operation, buffer: Value) -> Iterator[Operation]:
    """Operations inside `around` that may write a buffer."""
    for op in all_operations(around):
        if any(root(one) == buffer for one in _read_and_written(op)[1]):
            yield op


def touchers(around: Operation, buffer: Value) -> Iterator[Operation]:
    """Operations inside `around` that may read or write a buffer."""
    for op in all_operations(around):
        if any(root(one) == buffer for side in _read_and_written(op) for one in side):
            yield op


def conflicts(op: Operation, reads: Sequence[Value], writes: Sequence[Value]) -> bool:
    """Whether `op`, or what is in it, has to wait for what reads and writes such buffers."""
    for one in all_operations(op):
        read, written = ({root(value) for value in side} for side in _read_and_written(one))
        if any(buffer in written for buffer in (*reads, *writes)):
            return True
        if any(buffer in read for buffer in writes):
            return True
    return False
