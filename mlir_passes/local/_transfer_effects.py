# SPDX-License-Identifier: Apache-2.0
"""Buffers that operations read and write, transfers included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xtc.ir.analysis.effects import read_memrefs, written_memrefs
from xtc.ir.analysis.views import root
from xtc.ir.mlir import Operation, Value, all_operations
from xtc_passes.local._transfers import START, WAIT, target_of

_ADDRESS = "memref.extract_aligned_pointer_as_index"


def _read_and_written(op: Operation) -> tuple[list[Value], list[Value]]:
    """Operands that the operation itself reads, and writes; an unknown operation does both."""
    if op.name == START:
        return [op.operands[0]], [target_of(op)]
    has_operations_inside = len(op.regions) and not op.name.startswith("linalg.")
    if has_operations_inside or op.name in (_ADDRESS, WAIT):
        return [], []
    return read_memrefs(op), written_memrefs(op)


def writers(around: Operation, buffer: Value) -> Iterator[Operation]:
    """Operations inside `around` that may write a buffer."""
    for op in all_operations(around):
        if any(root(value) == buffer for value in _read_and_written(op)[1]):
            yield op


def accesses(around: Operation, buffer: Value) -> Iterator[Operation]:
    """Operations inside `around` that may read or write a buffer."""
    for op in all_operations(around):
        if any(root(value) == buffer for side in _read_and_written(op) for value in side):
            yield op


def conflicts(op: Operation, reads: Sequence[Value], writes: Sequence[Value]) -> bool:
    """Whether `op`, or an operation inside, must wait for a transfer between these buffers."""
    for inner in all_operations(op):
        read, written = ({root(value) for value in side} for side in _read_and_written(inner))
        if any(buffer in written for buffer in (*reads, *writes)):
            return True
        if any(buffer in read for buffer in writes):
            return True
    return False
