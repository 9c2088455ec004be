# SPDX-License-Identifier: Apache-2.0
"""Inserts barriers between operations of a block that access the same buffers."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.analysis.effects import read_memrefs, written_memrefs
from xtc.ir.analysis.views import root
from xtc.ir.mlir import Block, InsertionPoint, Operation, Value, all_operations
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._kernels import BARRIER

SHARED_LOOPS = "scf.parallel"
"""Loops whose iterations the threads of a block share, unless they are in a parallel loop."""


@dataclass(frozen=True)
class Effects:
    """The buffers that threads have read and written since the last barrier."""

    reads: frozenset[Value] = frozenset()
    writes: frozenset[Value] = frozenset()

    @staticmethod
    def of(op: Operation) -> Effects:
        """The buffers from outside an operation that it reads and writes."""
        inside = {value for operation in all_operations(op) for value in operation.results}
        found = [
            frozenset(buffer for value in values if (buffer := root(value)) not in inside)
            for values in (read_memrefs(op), written_memrefs(op))
        ]
        return Effects(*found)

    def __or__(self, other: Effects) -> Effects:
        return Effects(self.reads | other.reads, self.writes | other.writes)

    def conflict(self, other: Effects) -> bool:
        """Whether one of the two must complete before the other begins."""
        return bool(self.writes & (other.reads | other.writes) or self.reads & other.writes)


def is_block_level(op: Operation) -> bool:
    """Whether all threads run the operation because it contains loops that they share."""
    return op.name in ("scf.for", "scf.if") and any(
        operation.name == SHARED_LOOPS for operation in all_operations(op)
    )


def insert_barriers(body: Block) -> None:
    """Separate operations that access the same buffers by barriers.

    A loop as a whole is separated from the operations around it. Accesses that are later hoisted
    out of it, such as the first load and the last store of an accumulator, stay ordered.
    """
    _visit(body, Effects())


def _visit(body: Block, pending: Effects) -> Effects:
    """Insert barriers after the `pending` effects; returns the effects since the last barrier."""
    for op in [operation.operation for operation in body.operations]:
        if op.name == BARRIER:
            pending = Effects()
            continue
        own = Effects.of(op)
        if pending.conflict(own):
            with op.location:
                nvvm.barrier(None, ip=InsertionPoint(op))
            pending = Effects()
        if is_block_level(op):
            _visit_inside(op)
        pending = pending | own
    return pending


def _visit_inside(op: Operation) -> None:
    """Insert barriers inside a loop or branch, and between iterations."""
    for region in op.regions:
        for block in region.blocks:
            left = _visit(block, Effects())
            if op.name == "scf.for":
                _visit(block, left)
