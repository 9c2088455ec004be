# SPDX-License-Identifier: Apache-2.0
"""The accesses of tile kernels to memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from xtc.ir.mlir import BlockArgument, Operation, Value, all_operations

_ACCESSES: Mapping[str, int] = MappingProxyType(
    {
        "tile.load_global": 0,
        "tile.copy_async": 0,
        "tile.store_global": 1,
        "tile.store_scatter": 1,
        "tile.atomic": 0,
    }
)
"""The number of the operand that is the accessed memory."""

_SHARED = ("tile.load_shared", "tile.store_shared")
_READS = ("tile.load_global", "tile.copy_async")


def memory_read(op: Operation) -> Value | None:
    """The kernel's argument whose memory an operation reads without writing it."""
    return memory_of(op.operands[_ACCESSES[op.name]]) if op.name in _READS else None


def written(ops: Sequence[Operation]) -> set[Value]:
    """The kernel's arguments whose memory some operations write."""
    found = (memory_of(op.operands[at]) for op, at, _ in _accesses(ops) if op.name not in _READS)
    return {memory for memory in found if memory is not None}


def writers(ops: Sequence[Operation], view: Value) -> list[Operation]:
    """The operations that write the memory of a view."""
    memory = memory_of(view)
    found = [(op, at) for op, at, _ in _accesses(ops) if op.name not in _READS]
    return [op for op, at in found if memory_of(op.operands[at]) == memory]


def uses_again(ops: Sequence[Operation]) -> bool:
    """Whether memory that is written is accessed by another operation too, or by one in a loop."""
    counts: Counter[Value | None] = Counter()
    for op, at, times in _accesses(ops):
        counts[memory_of(op.operands[at])] += times
    return any(counts[memory] > 1 for memory in written(ops))


def shares_memory(before: Sequence[Operation], after: Sequence[Operation]) -> bool:
    """Whether some memory is accessed on both sides, and written; or shared memory on both."""
    if all(_uses_shared(ops) for ops in (before, after)):
        return True
    accessed = [
        {memory_of(op.operands[at]) for op, at, _ in _accesses(ops)} for ops in (before, after)
    ]
    return bool(accessed[0] & accessed[1] & written([*before, *after]))


def _uses_shared(ops: Sequence[Operation]) -> bool:
    inside = (inner for op in ops for inner in all_operations(op))
    return any(
        op.name in _SHARED
        or (op.name in _ACCESSES and memory_of(op.operands[_ACCESSES[op.name]]) is None)
        for op in inside
    )


def orders_blocks(op: Operation) -> bool:
    """Whether blocks may wait for others by an atomic operation, or see what others did."""
    return op.name == "tile.atomic" and "relaxed" not in str(op.attributes["order"])


def _accesses(ops: Sequence[Operation]) -> Iterator[tuple[Operation, int, int]]:
    """Each access with the number of its memory's operand, and 2 where it may be repeated."""
    for op in ops:
        for inner in all_operations(op):
            if inner.name in _ACCESSES:
                yield inner, _ACCESSES[inner.name], 1 if inner is op else 2


def memory_of(value: Value) -> Value | None:
    """The kernel's argument that a view of global memory looks at; None for shared memory."""
    while not isinstance(value, BlockArgument):
        if value.owner.name == "memref.alloc":
            return None
        value = value.owner.operands[0]
    return value
