# SPDX-License-Identifier: Apache-2.0
"""overlap-copies: marks copies that may run beside kernels that do not use their buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.effects import memrefs_of
from xtc.ir.analysis.views import root
from xtc.ir.attributes import OVERLAP
from xtc.ir.mlir import Block, Operation, UnitAttr, Value
from xtc.ir.partition import device_of, top_level
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class OverlapCopies(Pass):
    """Mark copies that share no buffer with the kernels launched before them.

    Before:
        call @f.npu0.0(%0, %1) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
        memref.copy %b, %2 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
    After:
        call @f.npu0.0(%0, %1) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
        memref.copy %b, %2 {xtc.device = "npu0", xtc.overlap} : memref<4xf32> to memref<4xf32, 1>

    A marked copy may run beside these kernels. Other copies wait for all kernels before them.
    """

    name: ClassVar[str] = "overlap-copies"

    def run(self, module: Operation) -> None:
        for function in top_level(module):
            if function.name == "func.func" and device_of(function) is None:
                for block in function.regions[0].blocks:
                    _mark(block)


def _mark(block: Block) -> None:
    """Walk the commands, and track the buffers that unfinished kernels of each device use."""
    running: dict[str | None, set[Value]] = {}
    for op in (op.operation for op in block.operations):
        device = device_of(op)
        if device is None:
            continue
        touched = {root(value) for value in memrefs_of(op)}
        if op.name == "func.call":
            running.setdefault(device, set()).update(touched)
        elif op.name == "memref.copy" and device in running:
            if running[device].isdisjoint(touched):
                op.attributes[OVERLAP] = UnitAttr.get(op.context)
            else:
                del running[device]
