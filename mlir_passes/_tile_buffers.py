# SPDX-License-Identifier: Apache-2.0
"""Buffers of their own for the tiles that one operation reads and writes."""

from __future__ import annotations

from xtc.core.loops.script import Materialize
from xtc.core.mlir import DenseI32ArrayAttr, InsertionPoint, Operation, Value
from xtc_passes import _linalg as linalg


def materialize(module: Operation, action: Materialize) -> None:
    """Copy operand tiles to new tensors, which become buffers; the same for the result's tile."""
    (op,) = linalg.operations_with(module, action.mark)
    for place in action.operands:
        op.operands[place] = _buffer(op, op.operands[place], copy=True)
    if action.result:
        place = len(op.operands) - 1
        source = op.operands[place]
        op.operands[place] = _buffer(op, source, copy=_reads_result(op))
        _copy_out(op, source)


def _buffer(op: Operation, source: Value, *, copy: bool) -> Value:
    """A tensor of the type of `source` that bufferization gives memory of its own."""
    with op.context, op.location:
        buffer = Operation.create(
            "bufferization.alloc_tensor",
            results=[source.type],
            operands=[source] if copy else [],
            attributes={"operandSegmentSizes": DenseI32ArrayAttr.get([0, int(copy), 0])},
            ip=InsertionPoint(op),
        )
    return buffer.results[0]


def _reads_result(op: Operation) -> bool:
    """Whether the body uses the element that it overwrites."""
    body = op.regions[0].blocks[0]
    return any(True for _ in body.arguments[len(op.operands) - 1].uses)


def _copy_out(op: Operation, into: Value) -> None:
    """Write the result of `op` to where it was to be in the first place."""
    (result,) = op.results
    uses = [(use.owner, use.operand_number) for use in result.uses]
    with op.context, op.location:
        copy = Operation.create(
            "bufferization.materialize_in_destination",
            results=[into.type],
            operands=[result, into],
            ip=InsertionPoint.after(op),
        )
    for user, number in uses:
        user.operands[number] = copy.results[0]
