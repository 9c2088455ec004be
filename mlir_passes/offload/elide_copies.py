# SPDX-License-Identifier: Apache-2.0
"""elide-copies: removes round trips through the host and copies that are never read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.effects import is_allocation, written_memrefs
from xtc.ir.analysis.views import root
from xtc.ir.mlir import Block, Operation, Value
from xtc.ir.partition import device_of, top_level
from xtc.ir.passes import Pass
from xtc_passes.offload._device_buffers import shards_of


@dataclass(frozen=True)
class ElideCopies(Pass):
    """Copy within a device instead of through the host, and drop copies that are never read.

    Before:
        memref.copy %0, %h {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
        memref.copy %h, %b {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
    After:
        memref.copy %0, %b {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32, 1>

    Copies between buffers with different sharding still go through the host. The pass handles the
    blocks of host functions, where insert-transfers puts its copies.
    """

    name: ClassVar[str] = "elide-copies"

    def run(self, module: Operation) -> None:
        for function in top_level(module):
            if function.name == "func.func" and device_of(function) is None:
                for block in function.regions[0].blocks:
                    _stay_on_device(block)
                    while _drop_unread(block):
                        pass


def _stay_on_device(block: Block) -> None:
    """Copy from the device buffer that a host buffer was copied from, if the device is the same."""
    came_from: dict[Value, Operation] = {}
    for op in [op.operation for op in block.operations]:
        source = _source(op, came_from)
        if source is not None:
            op.operands[0] = source
        for value in written_memrefs(op):
            came_from = {
                host: copy
                for host, copy in came_from.items()
                if root(value) not in (root(host), root(copy.operands[0]))
            }
        if op.name == "memref.copy":
            came_from[op.operands[1]] = op


def _source(op: Operation, came_from: dict[Value, Operation]) -> Value | None:
    """The memory on the same device that `op`, a copy to a device, can read instead."""
    if op.name != "memref.copy" or device_of(op) is None:
        return None
    value, found = op.operands[0], None
    while value in came_from:
        copy = came_from[value]
        value = copy.operands[0]
        if device_of(copy) == device_of(op) and shards_of(value) == shards_of(op.operands[1]):
            found = value
    return found if found is not None and found.type == op.operands[1].type else None


def _drop_unread(block: Block) -> bool:
    """Erase copies into host buffers that nothing reads; returns whether there were any."""
    dropped = False
    for op in [op.operation for op in block.operations]:
        if op.name == "memref.copy" and _is_unread(op.operands[1]):
            op.erase()
            dropped = True
    return dropped


def _is_unread(memref: Value) -> bool:
    """Whether `memref` is a buffer of this function that is only ever copied to."""
    if isinstance(memref.owner, Block) or not is_allocation(memref.owner.operation):
        return False
    return all(
        use.owner.operation.name == "memref.dealloc"
        or (use.owner.operation.name == "memref.copy" and use.operand_number == 1)
        for use in memref.uses
    )
