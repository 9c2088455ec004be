# SPDX-License-Identifier: Apache-2.0
"""Joins barriers with the batch of matrix instructions between them, for the simulator.

A barrier switches from thread to thread, and so does a batch. By one call for both, and for the
barrier after it, the simulator resumes each thread once.
"""

from __future__ import annotations

from collections.abc import Iterable

from xtc.ir.builders.llvm import call, constant
from xtc.ir.mlir import (
    BlockArgument,
    FlatSymbolRefAttr,
    InsertionPoint,
    IntegerAttr,
    Operation,
    Value,
    all_operations,
)
from xtc_targets.nvgpu.passes._simulation.batch_calls import BATCH
from xtc_targets.nvgpu.passes._simulation.warp_batches import WITHOUT_EFFECTS

BARRIER_AT = "cuda_barrier_at"
"""Waits at barrier 0 for all threads of the block; the operand is the barrier's site."""

_BETWEEN = "cuda_run_batch_between"
_NO_BARRIER = 0
_VIEWS = ("llvm.getelementptr", "llvm.addrspacecast")


def join_barriers(kernel: Operation) -> None:
    """Replace batches with barriers next to them by calls that do both.

    A barrier is next to a batch if only operations are between them that neither have effects nor
    access memory of other threads.
    """
    for op in all_operations(kernel):
        if _callee(op) == BATCH:
            _join(op)


def _callee(op: Operation) -> str | None:
    if op.name != "llvm.call" or "callee" not in op.attributes:
        return None
    return str(FlatSymbolRefAttr(op.attributes["callee"]).value)


def _join(batch: Operation) -> None:
    operations = [view.operation for view in batch.block.operations]
    position = operations.index(batch)
    before = _barrier(reversed(operations[:position]))
    after = _barrier(operations[position + 1 :])
    if before is None and after is None:
        return
    with batch.location:
        ip = InsertionPoint(batch)
        sites = [constant(_site(barrier), ip) for barrier in (before, after)]
        call(_BETWEEN, [*batch.operands, *sites], [], ip)
    for op in (before, batch, after):
        if op is not None:
            op.erase()


def _barrier(neighbors: Iterable[Operation]) -> Operation | None:
    """The barrier that comes first, if the operations before it may change places with it."""
    for op in neighbors:
        if _callee(op) == BARRIER_AT:
            return op
        if not _is_private(op):
            return None
    return None


def _is_private(op: Operation) -> bool:
    """Whether no other thread can see when an operation is executed."""
    if op.name == "llvm.load":
        return _is_on_stack(op.operands[0])
    if op.name == "llvm.store":
        return _is_on_stack(op.operands[1])
    return op.name in WITHOUT_EFFECTS


def _is_on_stack(address: Value) -> bool:
    if isinstance(address, BlockArgument):
        return False
    producer = address.owner.operation
    if producer.name in _VIEWS:
        return _is_on_stack(producer.operands[0])
    return bool(producer.name == "llvm.alloca")


def _site(barrier: Operation | None) -> int:
    if barrier is None:
        return _NO_BARRIER
    number = barrier.operands[0].owner.operation
    return int(IntegerAttr(number.attributes["value"]).value)
