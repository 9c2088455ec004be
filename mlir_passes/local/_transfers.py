# SPDX-License-Identifier: Apache-2.0
"""Transfers between main and local memory: `memref.dma_start` and `memref.dma_wait` with tags."""

from __future__ import annotations

from xtc.ir.builders import numbers
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerType,
    MemRefType,
    Operation,
    Value,
    memref,
)
from xtc_passes.local import _view_layouts as layouts
from xtc_passes.local._functions import body, is_on_unit
from xtc_passes.local._memory import LocalMemory, is_in_main_memory

START, WAIT = "memref.dma_start", "memref.dma_wait"


def is_transfer(copy: Operation, memory: LocalMemory) -> bool:
    """Whether the copy engine can do a `memref.copy`.

    Control code makes the copy, between main and local memory, and strides are known.
    """
    source, target = copy.operands
    get = is_in_main_memory(source) and memory.holds(target)
    put = memory.holds(source) and is_in_main_memory(target)
    if not (get or put):
        return False
    return not is_on_unit(copy) and all(map(layouts.has_layout, (source, target)))


def new_tags(function: Operation, count: int) -> Value:
    """An array on the stack of control code for the numbers of `count` transfers in flight."""
    type = MemRefType.get([count], IntegerType.get_signless(32))
    first = body(function)[0]
    with InsertionPoint(first):
        return memref.alloca(type, [], [])


def start(source: Value, target: Value, tags: Value, number: Offset) -> Operation:
    """Start a transfer under tag `number`; the two views define its rows."""
    zero = numbers.constant(0)
    count: Offset = 1
    for size in layouts.sizes(target):
        count = numbers.multiply(count, size)
    ends = [
        operand
        for end in (source, target)
        for operand in (end, *[zero] * MemRefType(end.type).rank)
    ]
    operands = [*ends, numbers.as_value(count), tags, numbers.as_value(number)]
    return memref.DmaStartOp(operands).operation


def wait(tags: Value, number: Offset) -> Operation:
    """Wait for the transfer under tag `number`."""
    index = numbers.as_value(number)
    return memref.DmaWaitOp(tags, [index], numbers.constant(1)).operation


def target_of(start: Operation) -> Value:
    """The memref that a `memref.dma_start` writes."""
    return start.operands[1 + MemRefType(start.operands[0].type).rank]


def tag_of(op: Operation) -> tuple[Value, Value]:
    """The array of tags and the index into it of a `memref.dma_start` or `memref.dma_wait`."""
    operands = list(op.operands)
    if op.name == WAIT:
        return operands[0], operands[1]
    first = 3 + sum(MemRefType(end.type).rank for end in (operands[0], target_of(op)))
    return operands[first], operands[first + 1]
