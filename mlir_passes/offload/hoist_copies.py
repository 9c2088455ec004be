# SPDX-License-Identifier: Apache-2.0
"""hoist-copies: starts copies to devices before unrelated work of the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.effects import is_allocation, is_view, memrefs_of, written_memrefs
from xtc.ir.analysis.views import root
from xtc.ir.mlir import Block, Operation, Value, all_operations
from xtc.ir.partition import device_of, top_level
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class HoistCopies(Pass):
    """Move device commands up, before host operations that they do not depend on.

    Before:
        linalg.exp ins(%a) outs(%t)
        memref.copy %b, %0 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
        call @f.npu0.0(%0, %1) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
    After:
        memref.copy %b, %0 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
        call @f.npu0.0(%0, %1) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
        linalg.exp ins(%a) outs(%t)

    Commands of devices keep their order. Copies to the host stay in place, because the host would
    have to wait for them.
    """

    name: ClassVar[str] = "hoist-copies"

    def run(self, module: Operation) -> None:
        for function in top_level(module):
            if function.name == "func.func" and device_of(function) is None:
                for block in function.regions[0].blocks:
                    _hoist(block)


def _hoist(block: Block) -> None:
    operations = [op.operation for op in block.operations]
    for position, op in enumerate(operations):
        earliest = position
        while earliest > 0 and _is_hoistable(op) and _may_precede(op, operations[earliest - 1]):
            earliest -= 1
        if earliest < position:
            op.move_before(operations[earliest])
            operations.insert(earliest, operations.pop(position))


def _is_hoistable(op: Operation) -> bool:
    """Whether the host issues this command without waiting for it."""
    if device_of(op) is None:
        return False
    to_host = op.name == "memref.copy" and _is_of_host(op.operands[1])
    return op.name in ("memref.alloc", "memref.copy", "func.call") and not to_host


def _may_precede(op: Operation, other: Operation) -> bool:
    """Whether `op` may move before `other`, a host operation that it does not depend on."""
    if device_of(other) is not None or is_allocation(other) or is_view(other):
        return False
    defined = {result for op in all_operations(other) for result in op.results}
    if not defined.isdisjoint(op.operands):
        return False
    touched = {root(value) for value in memrefs_of(op)}
    changed = {root(value) for value in written_memrefs(other)}
    changes = {root(value) for value in written_memrefs(op)}
    used = {root(value) for value in memrefs_of(other)}
    return touched.isdisjoint(changed) and changes.isdisjoint(used)


def _is_of_host(value: Value) -> bool:
    return value.type.memory_space is None
