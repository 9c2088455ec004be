# SPDX-License-Identifier: Apache-2.0
"""overlap-copies: what is copied while a kernel runs that does not use it."""

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
    """Mark copies that may run beside the kernels started before them, as they share nothing.

    Before:
        call @f.npu0.0(%0, %1) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
        memref.copy %b, %2 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
    After:
        call @f.npu0.0(%0, %1) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
        memref.copy %b, %2 {xtc.device = "npu0", xtc.overlap} : memref<4xf32> to memref<4xf32, 1>

    A copy that is not marked waits for all kernels before it.
    """

    name: ClassVar[str] = "overlap-copies"

    def run(self, module: Operation) -> None:
        for function in top_level(module):
            if function.name == "func.func" and device_of(function) is None:
                for block in function.regions[0].blocks:
                    _mark(block)


def _mark(block: Block) -> None:
    """Walk the commands of each device and keep what its unfinished kernels use."""
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
