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
    order = [op.operation for op in function.regions[0].blocks[0].operations]
    positions = {op: position for position, op in enumerate(order)}
    for members in _groups(order):
        *earlier, last = members
        window = slice(positions[members[0]], positions[last] + 1)
        own = set(members)
        others = [op for op in order[window] if op not in own]
        if not others:
            continue
        if all(
            _can_move(op, [o for o in others if positions[o] > positions[op]]) for op in earlier
        ):
            for op in earlier:
                op.move_before(last)
            order[window] = [*others, *members]
            positions |= {op: window.start + n for n, op in enumerate(order[window])}
        else:
            for op in members:
                del op.attributes[KERNEL]


def _groups(order: Sequence[Operation]) -> list[list[Operation]]:
    """The operations of each marked kernel, in order."""
    found: dict[str, list[Operation]] = {}
    for op in order:
        if KERNEL in op.attributes:
            found.setdefault(str(op.attributes[KERNEL]), []).append(op)
    return list(found.values())


def _can_move(op: Operation, later: Sequence[Operation]) -> bool:
    """Whether `op` can run after operations that follow it."""
    return not any(acts(other) and _conflict(op, other) for other in later)


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
