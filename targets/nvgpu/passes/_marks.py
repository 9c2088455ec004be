# SPDX-License-Identifier: Apache-2.0
"""Marks of operations on tensors that later become one kernel."""

from __future__ import annotations

from collections.abc import Iterable

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.attributes import KERNEL
from xtc.ir.mlir import InsertionPoint, IntegerAttr, IntegerType, Operation, OpView

REDUCTION = "nvgpu.reduction"
"""Attribute of a reduction in a kernel with the fill of its destination, and of its epilogue: a
unit. Written by group-reductions, read by use-tensor-cores and reduce-in-blocks."""


def first_free_mark(view: FunctionView) -> int:
    """The first number that marks no kernel of the function yet."""
    used = [IntegerAttr(op.attributes[KERNEL]).value for op in view.ops if KERNEL in op.attributes]
    return max(used, default=-1) + 1


def mark(members: Iterable[Operation], number: int) -> None:
    """Mark the operations of a kernel."""
    label = IntegerAttr.get(IntegerType.get_signless(64), number)
    for op in members:
        op.attributes[KERNEL] = label


def separate(op: Operation, number: int) -> None:
    """Make an operation write to a new tensor, not to a buffer that a block may read.

    The mark prevents CSE from merging the tensor with an equal one of another kernel.
    """
    last = len(op.operands) - 1
    producer = op.operands[last].owner
    if isinstance(producer, Operation | OpView) and producer.operation.name == "tensor.empty":
        own = producer.operation.clone(InsertionPoint(op)).operation
        mark([own], number)
        op.operands[last] = own.results[0]


def own_fill(op: Operation, number: int, fill: Operation) -> Operation:
    """A copy of a fill before `op`, which fills its destination from then on.

    The fill is erased if nothing else uses it.
    """
    copy: Operation = fill.clone(InsertionPoint(op)).operation
    separate(copy, number)
    op.operands[len(op.operands) - 1] = copy.results[0]
    if not any(True for _ in fill.results[0].uses):
        fill.erase()
    return copy
