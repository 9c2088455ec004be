# SPDX-License-Identifier: Apache-2.0
"""start-transfers: the copy engine copies between main and local memory; loops copy the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.views import root
from xtc.ir.builders import generic
from xtc.ir.mlir import InsertionPoint, Operation, all_operations
from xtc.ir.passes import Pass
from xtc_passes.local import _transfers as transfers
from xtc_passes.local._functions import functions
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._transfer_effects import conflicts


@dataclass(frozen=True)
class StartTransfers(Pass):
    """Make each `memref.copy` a transfer that is awaited as late as possible, or a `linalg.copy`.

    Before:
        memref.copy %A, %a;  memref.copy %B, %b;  use(%a, %b)    // A, B in main memory; a, b local
    After:
        memref.dma_start %A, %a, %tags;  memref.dma_start %B, %b, %more_tags
        memref.dma_wait %tags;  memref.dma_wait %more_tags;  use(%a, %b)

    Only control code uses the copy engine: copies by a single unit become loops, as do copies
    within local memory and copies of constants. The wait precedes the first operation of its block
    that accesses the target or writes the source; without such an operation it ends the block.

    Attributes:
        space: the memory space of local buffers; None if kernels allocate buffers only there.
            With a space, copies within main memory stay as they are.
    """

    name: ClassVar[str] = "start-transfers"
    space: int | None = None

    def run(self, module: Operation) -> None:
        memory = LocalMemory(self.space)
        with module.context:
            for kernel in functions(module):
                for copy in all_operations(kernel):
                    if copy.name != "memref.copy":
                        continue
                    with copy.location:
                        if transfers.is_transfer(copy, memory):
                            _start(kernel, copy)
                        elif self.space is None or any(map(memory.holds, copy.operands)):
                            source, target = copy.operands
                            generic.copy(source, target, ip=InsertionPoint(copy))
                            copy.erase()


def _start(kernel: Operation, copy: Operation) -> None:
    source, target = copy.operands
    tags = transfers.new_tags(kernel, 1)
    block = [op.operation for op in copy.block.operations]
    *others, end = block[block.index(copy) + 1 :]
    roots = [root(source)], [root(target)]
    first = next((op for op in others if conflicts(op, *roots)), end)
    with InsertionPoint(copy):
        transfers.start(source, target, tags, 0)
    with InsertionPoint(first):
        transfers.wait(tags, 0)
    copy.erase()
