# SPDX-License-Identifier: Apache-2.0
"""copy-by-dma: lowers copies between MRAM and WRAM to calls that transfer rows of bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders import control, numbers
from xtc.ir.builders.functions import call
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import IndexType, InsertionPoint, Operation, all_operations
from xtc.ir.passes import Pass
from xtc_passes.local import _view_layouts as layouts
from xtc_passes.local._functions import declare, functions
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._transfer_rows import Rows, rows_of
from xtc_passes.local._view_layouts import Layout
from xtc_targets.upmem.passes import _device_calls as device


@dataclass(frozen=True)
class CopyByDma(Pass):
    """Write each copy as loops over rows that are contiguous in both memories.

    Before:
        memref.copy %a, %tile : memref<4x64xf32, strided<[512, 1]>> to memref<4x64xf32, 2>
    After, in a loop over 4 rows:
        call @xtc_get(%tile_row, %a_row, %c256) : (index, index, index) -> ()
    """

    name: ClassVar[str] = "copy-by-dma"

    def run(self, module: Operation) -> None:
        memory = LocalMemory(device.SPACE)
        with module.context, module.location:
            index = IndexType.get()
            for name in (device.GET, device.PUT):
                declare(module, name, [index, index, index], [])
            for kernel in functions(module):
                for op in all_operations(kernel):
                    if op.name == "memref.copy":
                        with op.location, InsertionPoint(op):
                            _write(op, memory)
                        op.erase()


def _write(op: Operation, memory: LocalMemory) -> None:
    source, target = op.operands
    is_get = memory.holds(target)
    local, main = (target, source) if is_get else (source, target)
    sides = layouts.layout(local), layouts.layout(main)
    rows = rows_of(*sides, counts_rows=False)
    _loop(device.GET if is_get else device.PUT, sides, rows, 0, 0, 0)


def _loop(
    callee: str, sides: tuple[Layout, Layout], rows: Rows, depth: int, local: Number, main: Number
) -> None:
    if depth == len(rows.outer):
        nbytes = numbers.multiply(rows.elements, sides[0].element_bytes)
        ends = [sides[0].address(local), sides[1].address(main)]
        call(callee, [*ends, numbers.as_value(nbytes)])
        return
    dim = rows.outer[depth]
    with control.loop(0, dim.size) as result:
        _loop(
            callee,
            sides,
            rows,
            depth + 1,
            numbers.add(local, numbers.multiply(result.index, dim.local)),
            numbers.add(main, numbers.multiply(result.index, dim.main)),
        )
