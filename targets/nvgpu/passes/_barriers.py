# SPDX-License-Identifier: Apache-2.0
"""Where the threads of a block have to wait for each other."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.analysis.effects import read_memrefs, written_memrefs
from xtc.ir.analysis.views import root
from xtc.ir.mlir import Block, InsertionPoint, Operation, Value, all_operations
from xtc_targets.nvgpu.passes._kernels import BARRIER

SHARED_LOOPS = "scf.parallel"
"""Loops whose iterations the threads of a block share, where nothing parallel is around them."""


@dataclass(frozen=True)
class Effects:
    """Buffers that threads have read and written since they last waited for each other."""

    reads: frozenset[Value] = frozenset()
    writes: frozenset[Value] = frozenset()

    @staticmethod
    def of(op: Operation) -> Effects:
        """What an operation does to buffers that come from outside of it."""
        inside = {value for one in all_operations(op) for value in one.results}
        found = [
            frozenset(buffer for value in values if (buffer := root(value)) not in inside)
            for values in (read_memrefs(op), written_memrefs(op))
        ]
        return Effects(*found)

    def __or__(self, other: Effects) -> Effects:
        return Effects(self.reads | other.reads, self.writes | other.writes)

    def conflict(self, other: Effects) -> bool:
        """Whether one of the two has to be over before the other begins."""
        return bool(self.writes & (other.reads | other.writes) or self.reads & other.writes)


def is_block_level(op: Operation) -> bool:
    """Whether all threads run the operation, which holds loops that they share."""
    return op.name in ("scf.for", "scf.if") and any(
        one.name == SHARED_LOOPS for one in all_operations(op)
    )


def insert_barriers(body: Block) -> None:
    """Part what a block does one after the other where it touches the same buffers.

    A loop is parted from what is around it as a whole, so that what is moved out of it, as the
    first read of a sum and its last write, is on the right side of a barrier.
    """
    _visit(body, Effects())


def _visit(body: Block, pending: Effects) -> Effects:
    """Insert barriers, `pending` being what was done before; returns what is left to wait for."""
    for op in [one.operation for one in body.operations]:
        if op.name == BARRIER:
            pending = Effects()
            continue
        own = Effects.of(op)
        if pending.conflict(own):
            with op.location:
                Operation.create(BARRIER, ip=InsertionPoint(op))
            pending = Effects()
        if is_block_level(op):
            _visit_inside(op)
        pending = pending | own
    return pending


def _visit_inside(op: Operation) -> None:
    """Insert barriers between the parts of a loop or branch, and between iterations."""
    for region in op.regions:
        for block in region.blocks:
            left = _visit(block, Effects())
            if op.name == "scf.for":
                _visit(block, left)
