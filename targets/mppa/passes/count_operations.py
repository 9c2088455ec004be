# SPDX-License-Identifier: Apache-2.0
"""count-operations: lets device code report its operations, for the modelled cycles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders import numbers
from xtc.ir.builders.functions import call
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import Block, InsertionPoint, MemRefType, Operation, all_operations, arith
from xtc.ir.passes import Pass
from xtc_passes.local import _view_layouts as layouts
from xtc_passes.local._functions import declare, functions, has_mapping
from xtc_targets.mppa.description import COOLIDGE_V2
from xtc_targets.mppa.passes import _device_calls as device
from xtc_targets.mppa.passes._ddr_bytes import LINE, access_bytes, is_fixed, linalg_bytes
from xtc_targets.mppa.passes._linalg_loops import LinalgLoops, element, linalg_loops
from xtc_targets.mppa.passes._operation_counts import OTHER, TYPES, cost, store_cost

_LINE = COOLIDGE_V2.load_bytes_per_cycle
_DDR, _DDR_ONCE = OTHER + 1, OTHER + 2  # bytes of DDR, and bytes at a loop-invariant address
_TIMED = ("memref.dma_start", "memref.dma_wait")


@dataclass(frozen=True)
class CountOperations(Pass):
    """Insert calls of `dev_count_macs` and `dev_count_ddr` into device code.

    Before:
        scf.for %i = 0 to 8 step 1 { linalg.matmul ins(%a, %b) outs(%c) }     // 4 x 8 x 16 of f32
    After:
        scf.for %i = 0 to 8 step 1 { linalg.matmul ins(%a, %b) outs(%c) }
        call @dev_count_macs(%f32, %c4096) : (i32, i64) -> ()

    A contraction counts its multiply-adds under the type of its operands. All other work counts as
    "other", of which a PE does one per cycle: each arithmetic operation of a linalg body, once per
    iteration. Data movement, such as a fill or a copy, counts one per 32 bytes that it writes, the
    width of the stores of a PE. Loops over scalars and vectors from a schedule count alike; address
    arithmetic is free. Counts are accumulated to the end of a block and of the loops around it, but
    not across a transfer or a loop over PEs. An operation whose number of iterations does not
    follow from its operands counts nothing. A PE's accesses to DDR, without the DMA, count in cache
    lines, which are an estimate (`_ddr_bytes.py`).
    """

    name: ClassVar[str] = "count-operations"

    def run(self, module: Operation) -> None:
        with module.context:
            declare(module, device.COUNT, [device.i32(), device.i64()])
            declare(module, device.COUNT_DDR, [device.i64()])
            for function in functions(module):
                with function.location:
                    _count_inside(function.regions[0].blocks[0])


def _count_inside(block: Block) -> None:
    """Report the counts of a block at its end."""
    end = list(block.operations)[-1].operation
    _report(_counts(block), end)


def _counts(block: Block) -> Counter[int]:
    """The counts of one execution of a block that are still to be reported, by type."""
    found: Counter[int] = Counter()
    stored = 0
    for op in [operation.operation for operation in block.operations]:
        linalg = linalg_loops(op)
        if linalg is not None:
            found += _linalg_counts(linalg)
        elif len(op.regions) and _takes_time(op):
            _report(found, op)
            found = Counter()
            _count_regions(op)
        elif op.name == "scf.for":
            found += _loop_counts(op)
        elif len(op.regions) and not op.name.startswith("linalg."):
            _count_regions(op)
        elif op.name in _TIMED:
            _report(found, op)
            found = Counter()
        else:
            kind, number = cost(op)
            found[kind] += number
            nbytes = access_bytes(op)
            if nbytes:
                found[_DDR_ONCE if is_fixed(op) else _DDR] += nbytes
            stored += store_cost(op)
    if stored and not any(found[kind] for kind in (*TYPES.values(), OTHER)):
        found[OTHER] = stored
    return +found


def _takes_time(op: Operation) -> bool:
    """Whether an operation is, or contains, a transfer or a loop over PEs."""
    return any(
        operation.name in _TIMED or has_mapping(operation, "thread")
        for operation in all_operations(op)
    )


def _count_regions(op: Operation) -> None:
    for region in op.regions:
        for block in region.blocks:
            if len(block.operations):
                _count_inside(block)


def _loop_counts(loop: Operation) -> Counter[int]:
    """The counts of all iterations; reported after the loop if their number is unknown."""
    found = _counts(loop.regions[0].blocks[0])
    lower, upper, step = map(numbers.known, list(loop.operands)[:3])
    once = found.pop(_DDR_ONCE, 0)  # such an accumulator stays in a register
    if not found:
        return Counter({_DDR: once} if once else {})
    with InsertionPoint.after(loop):
        trips = numbers.trip_count(lower, upper, step)
        if not isinstance(trips, int):
            for kind, number in sorted(found.items()):
                _call(kind, numbers.multiply(trips, number))
            return Counter({_DDR: once} if once else {})
    return Counter({kind: number * trips for kind, number in found.items()}) + Counter({_DDR: once})


def _linalg_counts(found: LinalgLoops) -> Counter[int]:
    """The counts of a linalg operation; reported after it if known only at run time."""
    with found.op.location, InsertionPoint.after(found.op):
        extents = found.extents()
        if extents is None:
            return Counter()
        count: Offset = 1
        for extent in extents:
            count = numbers.multiply(count, extent)
        kind, arithmetic = OTHER, found.arithmetic
        if found.is_multiply_add:
            kind = TYPES.get(element(found.op.operands[0]), OTHER)
        elif arithmetic:
            count = numbers.multiply(count, len(arithmetic))
        else:
            count = _lines(found, count)
        nbytes = linalg_bytes(found)
        said: Counter[int] = Counter()
        for name, number in ((kind, count), (_DDR, nbytes)):
            if isinstance(number, int):
                said[name] += number
            else:
                _call(name, number)
    return said


def _lines(found: LinalgLoops, elements: Offset) -> Offset:
    """The number of full-width stores of `elements`."""
    target = found.op.operands[len(found.op.operands) - 1]
    nbytes = layouts.element_bytes(target) if isinstance(target.type, MemRefType) else 1
    return numbers.divide(numbers.add(numbers.multiply(elements, nbytes), _LINE - 1), _LINE)


def _report(found: Counter[int], before: Operation) -> None:
    with InsertionPoint(before):
        for kind, number in sorted(found.items()):
            if number:
                _call(kind, number)


def _call(kind: int, count: Offset) -> None:
    if kind in (_DDR, _DDR_ONCE):
        lines = numbers.divide(numbers.add(count, LINE - 1), LINE)
        call(device.COUNT_DDR, [arith.index_cast(device.i64(), numbers.as_value(lines))])
        return
    number = numbers.as_value(count)
    values = [numbers.constant(kind, device.i32()), arith.index_cast(device.i64(), number)]
    call(device.COUNT, values)
