# SPDX-License-Identifier: Apache-2.0
"""Estimates the bytes of DDR that a PE accesses without the DMA, in whole cache lines.

A line is fetched once for consecutive accesses, and again in every iteration of the loops outside
of those whose data fits into the PE's cache. Lines that an earlier operation left in the cache are
ignored.
"""

from __future__ import annotations

import math

from xtc.ir.analysis.structured import Structured, element_bits, shape_of, structured
from xtc.ir.builders import numbers
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import (
    Block,
    BlockArgument,
    FloatType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    Value,
    VectorType,
)
from xtc_targets.mppa.description import COOLIDGE_V2
from xtc_targets.mppa.passes._linalg_loops import LinalgLoops

DDR = 1
"""The memory space of a device's main memory."""
LINE = COOLIDGE_V2.line_bytes
_CACHE = COOLIDGE_V2.l1_bytes
_READS = {"memref.load": 0, "vector.load": 0, "vector.transfer_read": 0}
_WRITES = {"memref.store": 1, "vector.store": 1, "vector.transfer_write": 1}


def access_bytes(op: Operation) -> int:
    """Bytes of DDR that a scalar or vector load or store accesses; 0 for other operations."""
    number = {**_READS, **_WRITES}.get(op.name)
    if number is None or not _is_in_ddr(op.operands[number]):
        return 0
    type = op.results[0].type if op.name in _READS else op.operands[0].type
    lanes = math.prod(type.shape) if isinstance(type, VectorType) else 1
    element = type.element_type if isinstance(type, VectorType) else type
    width = element.width if isinstance(element, IntegerType | FloatType) else 64
    return max(1, lanes * int(width) // 8)


def is_fixed(op: Operation) -> bool:
    """Whether the access has the same address in all iterations of the loop around it."""
    first = 0 if op.name in _READS else 1
    return not any(_block_of(operand) == op.block for operand in list(op.operands)[first:])


def _block_of(value: Value) -> Block:
    return value.owner if isinstance(value, BlockArgument) else value.owner.operation.block


def linalg_bytes(found: LinalgLoops) -> Offset:
    """Bytes of DDR of a linalg operation, computed at the insertion point for dynamic sizes."""
    numbers_in_ddr = [n for n, value in enumerate(found.op.operands) if _is_in_ddr(value)]
    nest = structured(found.op)
    if nest is not None:
        return sum(_lines(nest, number) for number in numbers_in_ddr) * LINE
    extents = found.extents() if numbers_in_ddr else None
    if extents is None:
        return 0
    total: Offset = 0
    for number in numbers_in_ddr:
        part: Offset = element_bits(found.op.operands[number]) // 8
        for loop, extent in enumerate(extents):
            if any(index.factor(loop) for index in found.indices[number]):
                part = numbers.multiply(part, extent)
        total = numbers.add(total, part)
    return total


def _lines(nest: Structured, number: int) -> int:
    """Cache lines of an operand that are fetched or written."""
    held = _held_loops(nest)
    times = 1
    for loop in range(held):
        # An operand that does not move with the next outer loop stays in the cache.
        if loop < held - 1 or nest.uses_loop(number, loop):
            times *= nest.extents[loop]
    return times * _part_lines(nest, number, held)


def _held_loops(nest: Structured) -> int:
    """The first of the inner loops whose data fits into the cache."""
    operands = range(len(nest.indices))
    for first in range(len(nest.extents)):
        parts = (_part_lines(nest, number, first) for number in operands if nest.indices[number])
        if sum(parts) * LINE <= _CACHE:
            return first
    return len(nest.extents)


def _part_lines(nest: Structured, number: int, first: int) -> int:
    """Cache lines of an operand that the loops from `first` on access."""
    extents = [1 if loop < first else extent for loop, extent in enumerate(nest.extents)]
    sizes = [index.reach(extents) - index.offset for index in nest.indices[number]]
    shape, width = shape_of(nest.op.operands[number]), element_bits(nest.op.operands[number]) // 8
    dense = 1  # contiguous elements
    while sizes:
        size, whole = sizes.pop(), shape[len(sizes)]
        dense *= size
        if size != whole:
            break
    return math.prod(sizes) * -(-dense * width // LINE)


def _is_in_ddr(value: Value) -> bool:
    space = value.type.memory_space if isinstance(value.type, MemRefType) else None
    return isinstance(space, IntegerAttr) and space.value == DDR
