# SPDX-License-Identifier: Apache-2.0
"""Moves operations that are marked for one kernel together again after bufferization.

Bufferization writes a part of a larger result, such as a concatenation, where the insertion was.
Operations that compute the other parts may then stand between the operations of a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.effects import (
    is_allocation,
    is_view,
    memrefs_of,
    read_memrefs,
    written_memrefs,
)
from xtc.ir.analysis.views import root
from xtc.ir.attributes import KERNEL
from xtc.ir.mlir import Operation, Value


def gather_marked(function: Operation) -> None:
    """Move the operations of each marked kernel next to its last operation.

    If an operation in between conflicts with them over a buffer, all operations of the kernel lose
    the mark, and each becomes a separate kernel.
    """
    for members in _groups(function):
        *earlier, last = members
        if all(_can_move(op, members) for op in earlier):
            for op in earlier:
                op.move_before(last)
        else:
            for op in members:
                del op.attributes[KERNEL]


def _groups(function: Operation) -> list[list[Operation]]:
    """The operations of each marked kernel, in order."""
    found: dict[str, list[Operation]] = {}
    for op in function.regions[0].blocks[0].operations:
        if KERNEL in op.operation.attributes:
            found.setdefault(str(op.operation.attributes[KERNEL]), []).append(op.operation)
    return list(found.values())


def _can_move(op: Operation, members: Sequence[Operation]) -> bool:
    """Whether `op` can run after all operations between it and the last member."""
    block = [other.operation for other in op.block.operations]
    between = block[block.index(op) + 1 : block.index(members[-1])]
    others = [other for other in between if other not in members and acts(other)]
    return not any(_conflict(op, other) for other in others)


def _conflict(op: Operation, other: Operation) -> bool:
    """Whether both use a buffer, and at least one writes it."""
    (reads, writes), (other_reads, other_writes) = _buffers(op), _buffers(other)
    return bool(writes & (other_reads | other_writes) or reads & other_writes)


def _buffers(op: Operation) -> tuple[set[Value], set[Value]]:
    """The buffers that an operation reads, and those that it writes."""
    return set(map(root, read_memrefs(op))), set(map(root, written_memrefs(op)))


def acts(op: Operation) -> bool:
    """Whether `op` accesses memory and is not a view, allocation, deallocation or call."""
    passive = is_allocation(op) or is_view(op) or op.name in ("memref.dealloc", "func.call")
    return not passive and bool(memrefs_of(op))
