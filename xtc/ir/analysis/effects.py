# SPDX-License-Identifier: Apache-2.0
"""The buffers that an operation reads and writes."""

from __future__ import annotations

from xtc.ir.analysis.views import VIEWS
from xtc.ir.mlir import DenseI32ArrayAttr, MemRefType, Operation, Value, all_operations

_READERS = (
    *VIEWS,
    "memref.dim",
    "memref.load",
    "vector.gather",
    "vector.load",
    "vector.maskedload",
    "vector.transfer_read",
)
_COPY = "memref.copy"


def is_allocation(op: Operation) -> bool:
    """Whether `op` allocates a buffer."""
    return op.name in ("memref.alloc", "memref.alloca")


def is_view(op: Operation) -> bool:
    """Whether the result of `op` is a view of its first operand."""
    return op.name in VIEWS


def memrefs_of(op: Operation) -> list[Value]:
    """The memrefs that `op` and its nested operations use, those defined inside included."""
    return [value for inner in all_operations(op) for value in inner.operands if is_memref(value)]


def written_memrefs(op: Operation) -> list[Value]:
    """The memrefs among `memrefs_of(op)` that may be written."""
    if op.name.startswith("linalg."):  # their bodies compute scalars only
        return _written(op)
    return [value for inner in all_operations(op) for value in _written(inner)]


def read_memrefs(op: Operation) -> list[Value]:
    """The memrefs among `memrefs_of(op)` that may be read."""
    return [value for inner in all_operations(op) for value in _read(inner)]


def _written(op: Operation) -> list[Value]:
    if op.name in _READERS or op.name in ("memref.alloc", "memref.dealloc", "func.return"):
        return []
    if op.name == _COPY:
        return [op.operands[1]]
    if op.name.startswith("linalg."):
        return [value for value in _outputs(op) if is_memref(value)]
    return [value for value in op.operands if is_memref(value)]


def _read(op: Operation) -> list[Value]:
    if op.name == _COPY:
        return [op.operands[0]]
    if op.name in (*VIEWS, "memref.dealloc", "memref.store", "vector.store", "linalg.fill"):
        return []
    return [value for value in op.operands if is_memref(value)]


def _outputs(op: Operation) -> list[Value]:
    """The operands that a linalg operation writes; `linalg.yield` writes none."""
    operands = list(op.operands)
    if "operandSegmentSizes" in op.attributes:
        return operands[DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0] :]
    if op.name == "linalg.yield":
        return []
    # Without segments there are as many outputs as inputs, or a single output.
    return operands[len(operands) // 2 :] if op.name == "linalg.reduce" else operands[-1:]


def is_memref(value: Value) -> bool:
    """Whether `value` is a buffer or a view of one."""
    return isinstance(value.type, MemRefType)
