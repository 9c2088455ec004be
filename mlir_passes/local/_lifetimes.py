# SPDX-License-Identifier: Apache-2.0
"""The lifetimes of the buffers of a kernel, and offsets at which no two live buffers overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xtc.ir.attributes import UNITS
from xtc.ir.mlir import (
    FlatSymbolRefAttr,
    IntegerAttr,
    MemRefType,
    Operation,
    Value,
    all_operations,
)
from xtc.ir.partition import symbol_of
from xtc_passes.local import _view_layouts as layouts
from xtc_passes.local._functions import ancestor_in, functions, users
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._placement import Extent, place
from xtc_passes.local._transfers import START, tag_of


@dataclass(frozen=True, eq=False)
class Buffer:
    """An allocation and its lifetime, in operations of its kernel, numbered in the order of the IR.

    Attributes:
        alloc: the operation; a private buffer is allocated in the function that units run.
        begin, end: the first and the last operation of its lifetime.
        size: bytes of each copy, aligned.
        copies: one for each unit that has a private buffer; otherwise 1.
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


def buffers_of(
    module: Operation, kernel: Operation, memory: LocalMemory, alignment: int
) -> list[Buffer]:
    """The local buffers of a kernel and of the functions that its units run.

    A lifetime begins with the first use and ends with the last, in whole operations of the block
    of the allocation, such as a loop. A transfer uses its buffers until it has been awaited.
    """
    found = []
    numbers = {op: number for number, op in enumerate(all_operations(kernel))}

    def size(alloc: Operation) -> int:
        nbytes = layouts.nbytes(MemRefType(alloc.results[0].type))
        return -(-max(1, nbytes) // alignment) * alignment

    for alloc in memory.buffers(kernel):
        around = alloc.parent.operation
        used = [ancestor_in(op, around) for op in _uses(alloc.results[0])]
        times = [time for op in used if op is not None for time in _span(op, numbers)]
        times = times or [numbers[alloc]]
        found.append(Buffer(alloc, min(times), max(times), size(alloc)))
    for launch, function, units in launches(module, kernel):
        for alloc in memory.buffers(function):
            found.append(Buffer(alloc, *_span(launch, numbers), size(alloc), units))
    return found


def launches(module: Operation, kernel: Operation) -> Iterator[tuple[Operation, Operation, int]]:
    """The calls that units run, with the function and the number of units of each."""
    by_symbol = {symbol_of(function): function for function in functions(module)}
    for op in all_operations(kernel):
        if op.name == "func.call" and UNITS in op.attributes:
            callee = FlatSymbolRefAttr(op.attributes["callee"]).value
            yield op, by_symbol[callee], int(IntegerAttr(op.attributes[UNITS]).value)


def _span(op: Operation, numbers: dict[Operation, int]) -> tuple[int, int]:
    first = numbers[op]
    return first, first + len(all_operations(op)) - 1


def _uses(buffer: Value) -> Iterator[Operation]:
    for op in users(buffer):
        yield op
        if op.name == START:
            yield from (use.owner.operation for use in tag_of(op)[0].uses)


def offsets(buffers: Sequence[Buffer]) -> dict[Buffer, int]:
    """An offset for each buffer, at which no two live buffers overlap."""
    extents = [Extent(buffer.begin, buffer.end, buffer.nbytes) for buffer in buffers]
    return dict(zip(buffers, place(extents), strict=True))
