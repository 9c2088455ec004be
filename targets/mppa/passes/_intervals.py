# SPDX-License-Identifier: Apache-2.0
"""When a kernel's buffers are in use, and offsets in one memory so that no two in use overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xtc.ir.mlir import (
    FlatSymbolRefAttr,
    IntegerAttr,
    MemRefType,
    Operation,
    Value,
    all_operations,
)
from xtc_targets.mppa.passes import _device as device
from xtc_targets.mppa.passes import _views as views
from xtc_targets.mppa.passes._effects import dma_tag


@dataclass(frozen=True, eq=False)
class Buffer:
    """An allocation, used from one operation of its kernel to another, counted in the text's order.

    Attributes:
        alloc: the operation; in a PE's function where the buffer is private.
        copies: one for each PE that has a private one.
        size: bytes of each copy, aligned.
    """

    alloc: Operation
    begin: int
    end: int
    size: int
    copies: int = 1

    @property
    def nbytes(self) -> int:
        """Bytes of all copies."""
        return self.size * self.copies


def buffers_of(module: Operation, kernel: Operation, alignment: int) -> list[Buffer]:
    """Every buffer of a kernel and of the functions that its PEs run.

    Its time goes from its first use to its last, in whole operations of the block that allocates
    it, such as a loop. A transfer uses its buffers until it has been waited for.
    """
    found = []
    numbers = {op: number for number, op in enumerate(all_operations(kernel))}

    def size(alloc: Operation) -> int:
        nbytes = views.nbytes(MemRefType(alloc.results[0].type))
        return -(-max(1, nbytes) // alignment) * alignment

    for alloc in device.local_buffers(kernel):
        around = alloc.parent.operation
        used = [device.ancestor_in(op, around) for op in _uses(alloc.results[0])]
        times = [time for op in used if op is not None for time in _span(op, numbers)]
        times = times or [numbers[alloc]]
        found.append(Buffer(alloc, min(times), max(times), size(alloc)))
    for launch, function, pes in launches(module, kernel):
        for alloc in device.local_buffers(function):
            found.append(Buffer(alloc, *_span(launch, numbers), size(alloc), pes))
    return found


def launches(module: Operation, kernel: Operation) -> Iterator[tuple[Operation, Operation, int]]:
    """Calls that stand for launches on PEs, with the functions and the numbers of PEs."""
    by_symbol = {device.symbol(one): one for one in device.functions(module)}
    for op in all_operations(kernel):
        if op.name == "func.call" and device.PES in op.attributes:
            callee = FlatSymbolRefAttr(op.attributes["callee"]).value
            yield op, by_symbol[callee], int(IntegerAttr(op.attributes[device.PES]).value)


def _span(op: Operation, numbers: dict[Operation, int]) -> tuple[int, int]:
    first = numbers[op]
    return first, first + len(all_operations(op)) - 1


def _uses(buffer: Value) -> Iterator[Operation]:
    for op in device.users(buffer):
        yield op
        if op.name == "memref.dma_start":
            yield from (use.owner.operation for use in dma_tag(op)[0].uses)


def offsets(buffers: Sequence[Buffer]) -> dict[Buffer, int]:
    """An offset for each buffer, the largest first at the lowest that is free."""
    placed: dict[Buffer, int] = {}
    for one in sorted(buffers, key=lambda buffer: -buffer.nbytes):
        taken = sorted(
            (offset, offset + other.nbytes)
            for other, offset in placed.items()
            if one.begin <= other.end and other.begin <= one.end
        )
        offset = 0
        for begin, end in taken:
            if offset + one.nbytes <= begin:
                break
            offset = max(offset, end)
        placed[one] = offset
    return placed
