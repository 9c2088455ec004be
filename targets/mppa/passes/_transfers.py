# SPDX-License-Identifier: Apache-2.0
"""Copies between DDR and SMEM as `memref.dma_start` and `memref.dma_wait`, with numbered tags."""

from __future__ import annotations

from xtc.ir.builders.tensors import Offset
from xtc.ir.mlir import (
    DenseI32ArrayAttr,
    InsertionPoint,
    IntegerType,
    MemRefType,
    Operation,
    Value,
)
from xtc_targets.mppa.passes import _control as control
from xtc_targets.mppa.passes import _device as device
from xtc_targets.mppa.passes import _views as views


def is_transfer(copy: Operation) -> bool:
    """Whether the DMA can do a `memref.copy`: control code makes it, between DDR and SMEM."""
    source, target = copy.operands
    get = device.is_global(source) and device.is_local(target)
    put = device.is_local(source) and device.is_global(target)
    if not (get or put):
        return False
    return not device.is_on_pe(copy) and all(map(views.is_placed, (source, target)))


def new_tags(function: Operation, count: int) -> Value:
    """Room on the stack of control code for the numbers of transfers that are under way."""
    type = MemRefType.get([count], IntegerType.get_signless(32))
    first = device.body(function)[0]
    with InsertionPoint(first):
        return Operation.create(
            "memref.alloca",
            results=[type],
            attributes={"operandSegmentSizes": DenseI32ArrayAttr.get([0, 0])},
        ).results[0]


def start(source: Value, target: Value, tags: Value, number: Offset) -> Operation:
    """Start a transfer; views say which rows it has."""
    zero = control.constant(0)
    count: Offset = 1
    for size in views.sizes(target):
        count = control.multiply(count, size)
    places = [
        operand
        for memref in (source, target)
        for operand in (memref, *[zero] * MemRefType(memref.type).rank)
    ]
    operands = [*places, control.value(count), tags, control.value(number)]
    return Operation.create("memref.dma_start", operands=operands)


def wait(tags: Value, number: Offset) -> Operation:
    """Wait for the transfer of a tag."""
    operands = [tags, control.value(number), control.constant(1)]
    return Operation.create("memref.dma_wait", operands=operands)
