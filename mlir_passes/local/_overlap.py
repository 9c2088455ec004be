# SPDX-License-Identifier: Apache-2.0
"""Buffers that each iteration of a loop fills or empties by one transfer that can overlap."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.analysis.views import root
from xtc.ir.mlir import Block, MemRefType, Operation, OpResult, Value
from xtc_passes.local._functions import ancestor_in, body, users
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._transfer_effects import accesses, writers
from xtc_passes.local._transfers import is_transfer

_PURE = (
    "arith.",
    "affine.",
    "memref.cast",
    "memref.collapse_shape",
    "memref.dim",
    "memref.expand_shape",
    "memref.subview",
)


@dataclass(frozen=True)
class Tile:
    """A buffer that each iteration allocates, and the copies that fill and empty it.

    Attributes:
        alloc: the allocation.
        fill: the copy to the buffer that can start one iteration early, or None.
        drain: the copy from the buffer that can end one iteration late, or None.
    """

    alloc: Operation
    fill: Operation | None
    drain: Operation | None

    @property
    def slots(self) -> int:
        """The buffers that the tile needs when its copies overlap."""
        return 1 + (self.fill is not None) + (self.drain is not None)


def tile_of(alloc: Operation, loop: Operation, memory: LocalMemory) -> Tile:
    """The copies of a buffer that can overlap with the other operations of the loop."""
    buffer = alloc.results[0]
    used = list(users(buffer))
    if not used or not MemRefType(buffer.type).has_static_shape:
        return Tile(alloc, None, None)
    order = [op for op in body(loop) if op in [ancestor_in(user, loop) for user in used]]
    copies = [op for op in used if op.name == "memref.copy" and is_transfer(op, memory)]
    fills = [op for op in copies if root(op.operands[1]) == buffer]
    drains = [op for op in copies if root(op.operands[0]) == buffer]
    fill = fills[0] if len(fills) == 1 and fills[0] == order[0] else None
    drain = drains[0] if len(drains) == 1 and drains[0] == order[-1] else None
    if fill is not None and not _can_come_early(fill, loop, alloc):
        fill = None
    if drain is not None and not _can_end_late(drain, loop):
        drain = None
    return Tile(alloc, fill, drain)


def _can_come_early(fill: Operation, loop: Operation, alloc: Operation) -> bool:
    source, target = fill.operands
    written = any(True for _ in writers(loop, root(source)))
    return not written and all(_is_repeatable(end, loop, alloc) for end in (source, target))


def _can_end_late(drain: Operation, loop: Operation) -> bool:
    return list(accesses(loop, root(drain.operands[1]))) == [drain]


def _is_repeatable(value: Value, loop: Operation, alloc: Operation) -> bool:
    """Whether the loop index alone determines a value, so that it can be recomputed."""
    if is_outside(value, loop) or value == loop.regions[0].blocks[0].arguments[0]:
        return True
    if not isinstance(value, OpResult):
        return False
    if value.owner == alloc:
        return True
    pure = value.owner.name.startswith(_PURE)
    return pure and all(_is_repeatable(operand, loop, alloc) for operand in value.owner.operands)


def is_outside(value: Value, loop: Operation) -> bool:
    """Whether a value is defined outside the loop."""
    owner = value.owner
    around = owner.owner if isinstance(owner, Block) else owner.operation.parent
    while around is not None and around.operation != loop:
        around = around.operation.parent
    return around is None
