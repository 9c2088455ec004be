# SPDX-License-Identifier: Apache-2.0
"""What operations read and write of buffers, for passes that move transfers across them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xtc.core.buffers import VIEWS, root
from xtc.core.mlir import MemRefType, Operation, Value
from xtc_passes._linalg import all_operations

_READS = {
    "memref.load": (0,),
    "vector.load": (0,),
    "vector.transfer_read": (0,),
    "memref.copy": (0,),
    "memref.dim": (0,),
}
_WRITES = {
    "memref.store": (1,),
    "vector.store": (1,),
    "vector.transfer_write": (1,),
    "memref.copy": (1,),
}


def _memrefs(op: Operation) -> list[Value]:
    return [operand for operand in op.operands if isinstance(operand.type, MemRefType)]


def _read_and_written(op: Operation) -> tuple[list[Value], list[Value]]:
    """Operands that an operation itself reads, and that it writes; what is not known does both."""
    operands = list(op.operands)
    if op.name in VIEWS or op.name == "memref.extract_aligned_pointer_as_index":
        return [], []
    if op.name.startswith("linalg."):
        return operands, operands[len(operands) - _outputs(op) :]
    if op.name == "memref.dma_start":
        return operands[:1], [dma_target(op)]
    if op.name in _READS or op.name in _WRITES:
        return (
            [operands[n] for n in _READS.get(op.name, ())],
            [operands[n] for n in _WRITES.get(op.name, ())],
        )
    both = _memrefs(op)
    return both, both


def _outputs(op: Operation) -> int:
    """How many operands a linalg operation writes: the last ones."""
    if "operandSegmentSizes" in op.attributes:
        return int(list(op.attributes["operandSegmentSizes"])[-1])
    return len(op.operands) // 2 if op.name == "linalg.reduce" else min(1, len(op.operands))


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
