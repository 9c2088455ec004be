# SPDX-License-Identifier: Apache-2.0
"""Shuffles of several values alike by one call, for which the lanes of a warp meet once.

A thread with parts of several rows reduces them by the same steps. The shuffles of a step are
independent of each other, and only their values differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xtc.ir.builders.llvm import advanced, call, constant
from xtc.ir.mlir import Block, BlockArgument, InsertionPoint, Operation, Value
from xtc.ir.mlir_llvm import llvm
from xtc_targets.nvgpu.passes._kernels import SHUFFLE
from xtc_targets.nvgpu.passes._simulation.warp_batches import WITHOUT_EFFECTS

SHUFFLE_WORDS = "cuda_shuffle_words"
MOST = 16
"""Shuffles of a call: `CUDA_SHUFFLES` of `csrc/cuda_sim.h`."""

_VALUE = 1
"""The operand of a shuffle that is exchanged; the others are the mask, the lane and the clamp."""


@dataclass
class _Group:
    """Shuffles of one call.

    Attributes:
        delayed: operations between the shuffles that need a result of one.
        tail: further ones after the last shuffle.
        pending: results of all these.
    """

    shuffles: list[Operation] = field(default_factory=list)
    delayed: list[Operation] = field(default_factory=list)
    tail: list[Operation] = field(default_factory=list)
    pending: set[Value] = field(default_factory=set)

    def takes(self, op: Operation) -> bool:
        """Whether the shuffle may be one of this group."""
        if not self.shuffles or len(self.shuffles) == MOST or self.waits(op):
            return False
        return _key(op) == _key(self.shuffles[0])

    def waits(self, op: Operation) -> bool:
        """Whether the operation needs a result of the group."""
        return any(value in self.pending for value in op.operands)

    def add(self, op: Operation) -> None:
        self.shuffles.append(op)
        self.pending.update(op.results)
        self.delayed += self.tail
        self.tail = []

    def delay(self, op: Operation) -> None:
        self.tail.append(op)
        self.pending.update(op.results)


def shuffle_groups(kernel: Operation) -> list[list[Operation]]:
    """Identical shuffles of two or more values, with only operations without effects between them.

    Operations that need a result are moved after the last shuffle of a group.
    """
    return [group for block in _blocks(kernel) for group in _groups(block)]


def shuffle_together(group: list[Operation], mode: int, memory: Value) -> None:
    """Replace the shuffles of a group by one call, at the last one.

    Args:
        mode: the number of their kind in `cuda_shuffle_mode`.
        memory: of the thread, for `MOST` words.
    """
    last = group[-1]
    mask, _, lane, clamp = last.operands
    with last.location:
        ip = InsertionPoint(last)
        words = [advanced(memory, 4 * number, ip) for number in range(len(group))]
        for op, word in zip(group, words, strict=True):
            llvm.store(op.operands[_VALUE], word, ip=ip)
        count = constant(len(group), ip)
        call(SHUFFLE_WORDS, [mask, constant(mode, ip), memory, count, lane, clamp], [], ip)
        for op, word in zip(group, words, strict=True):
            op.results[0].replace_all_uses_with(llvm.load(op.results[0].type, word, ip=ip))
    for op in group:
        op.erase()


def _blocks(kernel: Operation) -> list[Block]:
    return [block for region in kernel.regions for block in region.blocks]


def _groups(block: Block) -> list[list[Operation]]:
    found = [_Group()]
    for view in list(block.operations):
        op, group = view.operation, found[-1]
        if op.name == SHUFFLE:
            if not group.takes(op):
                found.append(_Group())
            found[-1].add(op)
        elif op.name not in WITHOUT_EFFECTS:
            found.append(_Group())
        elif group.waits(op):
            group.delay(op)
    kept = [group for group in found if len(group.shuffles) > 1]
    for group in kept:
        _move(group)
    return [group.shuffles for group in kept]


def _move(group: _Group) -> None:
    """Move operations that need results after the last shuffle."""
    behind = group.shuffles[-1]
    for op in group.delayed:
        op.move_after(behind)
        behind = op


def _key(op: Operation) -> tuple[object, ...]:
    """Equal for shuffles that differ only in their values."""
    others = [value for number, value in enumerate(op.operands) if number != _VALUE]
    return str(op.attributes["kind"]), *(_identity(value) for value in others)


def _identity(value: Value) -> object:
    if isinstance(value, BlockArgument) or value.owner.operation.name != "llvm.mlir.constant":
        return value
    return str(value.owner.operation.attributes["value"])
