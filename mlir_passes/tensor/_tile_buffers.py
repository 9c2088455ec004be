# SPDX-License-Identifier: Apache-2.0
"""Local buffers for the tiles that an operation reads and writes."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis import linalg_ops as linalg
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    Value,
    all_operations,
    bufferization,
)
from xtc.loops.script import Materialize


def materialize(module: Operation, action: Materialize, space: int | None = None) -> None:
    """Give tiles of operands and of the result new tensors, which become local buffers.

    `space` is the memory space of the buffers, if it differs from that of arguments.
    """
    (op,) = linalg.operations_with(module, action.mark)
    give_buffers(op, action.operands, space, result=action.result)


def give_buffers(
    op: Operation, operands: Sequence[int], space: int | None = None, *, result: bool
) -> None:
    """Let an operation read copies of these operands, and compute in a local buffer."""
    for operand in operands:
        op.operands[operand] = _buffer(op, op.operands[operand], space, copy=True)
    if result:
        operand = len(op.operands) - 1
        source = op.operands[operand]
        op.operands[operand] = _buffer(op, source, space, copy=_reads_result(op))
        _copy_out(op, source)


def keep_temporaries_local(module: Operation, space: int) -> None:
    """Place the intermediate results of distributed loops in this memory space."""
    for op in all_operations(module):
        if op.name == "tensor.empty" and _is_inside(op, "scf.forall"):
            local = _buffer(op, op.results[0], space, copy=False)
            op.results[0].replace_all_uses_with(local)
            op.erase()


def _is_inside(op: Operation, name: str) -> bool:
    around = op.parent
    while around is not None and around.name != name:
        around = around.parent
    return around is not None


def _buffer(op: Operation, source: Value, space: int | None, *, copy: bool) -> Value:
    """A tensor of the type of `source` that bufferization gives a separate buffer."""
    with op.context, op.location:
        memory = None
        if space is not None:
            memory = IntegerAttr.get(IntegerType.get_signless(64), space)
        copied, ip = source if copy else None, InsertionPoint(op)
        return bufferization.alloc_tensor(source.type, [], copy=copied, memory_space=memory, ip=ip)


def _reads_result(op: Operation) -> bool:
    """Whether the body uses the element that it overwrites."""
    body = op.regions[0].blocks[0]
    return any(True for _ in body.arguments[len(op.operands) - 1].uses)


def _copy_out(op: Operation, into: Value) -> None:
    """Copy the result of `op` to its original destination."""
    (result,) = op.results
    uses = [(use.owner, use.operand_number) for use in result.uses]
    with op.context, op.location:
        ip = InsertionPoint.after(op)
        copied = bufferization.materialize_in_destination(into.type, result, into, ip=ip)
    for user, number in uses:
        user.operands[number] = copied
