# SPDX-License-Identifier: Apache-2.0
"""reuse-device-buffers: reuses device buffers whose contents are no longer needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.effects import is_allocation
from xtc.ir.analysis.views import root
from xtc.ir.mlir import Block, Operation, Value
from xtc.ir.partition import device_of, top_level
from xtc.ir.passes import Pass
from xtc_passes.offload._device_buffers import shards_of

_Kind = tuple[str | None, str, int]
"""A device, the type of a buffer there, and its number of shards."""


@dataclass(frozen=True)
class ReuseDeviceBuffers(Pass):
    """Replace an allocation by a dead buffer of the same device and type.

    Before:
        call @f.npu0.0(%a, %0) ; call @f.npu0.1(%0, %1)
        %2 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
        call @f.npu0.2(%1, %2)
    After:
        call @f.npu0.0(%a, %0) ; call @f.npu0.1(%0, %1)
        call @f.npu0.2(%1, %0)

    Commands of a device run in order. A buffer that the host fills stays a new one: in a reused
    buffer, its copy would wait for kernels that it could overlap with.
    """

    name: ClassVar[str] = "reuse-device-buffers"

    def run(self, module: Operation) -> None:
        for function in top_level(module):
            if function.name == "func.func" and device_of(function) is None:
                for block in function.regions[0].blocks:
                    _reuse(block)


def _reuse(block: Block) -> None:
    operations = [op.operation for op in block.operations]
    last = _last_uses(operations)
    filled = {op.operands[1] for op in operations if op.name == "memref.copy"}
    free: dict[_Kind, list[Value]] = {}
    releases: list[Operation] = []
    for position, op in enumerate(operations):
        ended = last.get(position, [])
        is_device_buffer = op.name == "memref.alloc" and device_of(op) is not None
        if is_device_buffer and op.results[0] not in filled:
            available = free.get(_kind(op.results[0]), [])
            if available:
                buffer = available.pop()
                _move_last_use(last, op.results[0], buffer)
                releases += _replace(op, buffer)
        for buffer in ended:
            free.setdefault(_kind(buffer), []).append(buffer)
    for op in releases:  # now, as the loop visits them
        op.erase()


def _last_uses(operations: list[Operation]) -> dict[int, list[Value]]:
    """Device buffers by the position of their last use, deallocations excluded."""
    found: dict[Value, int] = {}
    for position, op in enumerate(operations):
        for value in map(root, op.operands) if op.name != "memref.dealloc" else ():
            if _is_device_buffer(value):
                found[value] = position
    ends: dict[int, list[Value]] = {}
    for value, position in found.items():
        ends.setdefault(position, []).append(value)
    return ends


def _move_last_use(last: dict[int, list[Value]], old: Value, new: Value) -> None:
    """Extend the lifetime of `new` to the last use of `old`."""
    for values in last.values():
        if old in values:
            values[values.index(old)] = new


def _replace(alloc: Operation, buffer: Value) -> list[Operation]:
    """Use `buffer` instead of an allocation; returns the deallocations, which are superfluous."""
    users = [use.owner.operation for use in alloc.results[0].uses]
    alloc.results[0].replace_all_uses_with(buffer)
    alloc.erase()
    return [op for op in users if op.name == "memref.dealloc"]


def _is_device_buffer(value: Value) -> bool:
    owner = value.owner
    if isinstance(owner, Block):
        return False
    return is_allocation(owner.operation) and device_of(owner.operation) is not None


def _kind(buffer: Value) -> _Kind:
    return device_of(buffer.owner.operation), str(buffer.type), shards_of(buffer)
