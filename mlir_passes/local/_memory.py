# SPDX-License-Identifier: Apache-2.0
"""Tells whether buffers of a device's functions are in local or in main memory."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.analysis.views import root
from xtc.ir.mlir import (
    BlockArgument,
    IntegerAttr,
    MemRefType,
    Operation,
    OpResult,
    Value,
    all_operations,
)


@dataclass(frozen=True)
class LocalMemory:
    """The local memory of a machine, recognized by the types of buffers.

    Attributes:
        space: its memory space; None if kernels allocate buffers only there.
    """

    space: int | None = None

    def holds(self, memref: Value) -> bool:
        """Whether a buffer, or the buffer of a view, is allocated in local memory."""
        found = root(memref)
        allocated = isinstance(found, OpResult) and found.owner.name in (
            "memref.alloc",
            "memref.view",
        )
        return allocated and self._has_space(found)

    def buffers(self, function: Operation) -> list[Operation]:
        """The allocations in local memory, in the order of the IR."""
        return [
            op
            for op in all_operations(function)
            if op.name == "memref.alloc" and self._has_space(op.results[0])
        ]

    def _has_space(self, buffer: Value) -> bool:
        if self.space is None:
            return True
        space = MemRefType(buffer.type).memory_space
        return isinstance(space, IntegerAttr) and bool(space.value == self.space)


def is_in_main_memory(memref: Value) -> bool:
    """Whether a buffer, or the buffer of a view, is an argument of a kernel."""
    found = root(memref)
    return isinstance(found, BlockArgument) and found.owner.owner.operation.name == "func.func"
