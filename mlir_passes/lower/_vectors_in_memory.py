# SPDX-License-Identifier: Apache-2.0
"""Passes vectors on the stack to a body that becomes a function."""

from __future__ import annotations

from xtc.ir.analysis.captures import captured
from xtc.ir.builders.numbers import index_constant
from xtc.ir.mlir import (
    AffineMap,
    AffineMapAttr,
    ArrayAttr,
    Block,
    BoolAttr,
    InsertionPoint,
    MemRefType,
    Operation,
    Value,
    VectorType,
    memref,
    ub,
    vector,
)


def keep_vectors_in_memory(
    body: Operation, begin: Block, mark: Operation, around: Operation
) -> None:
    """Let `body` read vectors that are computed before `mark` from buffers on the stack.

    The vectors may be wider than a register, and an argument of a function may not. The buffers
    belong to the function `around`, which contains `mark`; the body reads them at the start of
    `begin`.
    """
    for value in captured(body):
        if isinstance(value.type, VectorType):
            _keep(value, body, begin, mark, around)


def _keep(value: Value, body: Operation, begin: Block, mark: Operation, around: Operation) -> None:
    type = VectorType(value.type)
    with InsertionPoint.at_block_begin(around.regions[0].blocks[0]):
        buffer = memref.alloca(MemRefType.get(type.shape, type.element_type), [], [])
    every = AffineMapAttr.get(AffineMap.get_identity(type.rank))
    bounds = ArrayAttr.get([BoolAttr.get(True)] * type.rank)
    with InsertionPoint(mark):
        start = [index_constant(0)] * type.rank
        vector.transfer_write(None, value, buffer, start, every, bounds)
    with InsertionPoint.at_block_begin(begin):
        start = [index_constant(0)] * type.rank
        rest = ub.poison(type.element_type)
        read = vector.transfer_read(type, buffer, start, every, rest, bounds)
    for use in list(value.uses):
        if _is_inside(use.owner.operation, body):
            use.owner.operation.operands[use.operand_number] = read


def _is_inside(op: Operation | None, body: Operation) -> bool:
    while op is not None and op != body:
        op = op.parent
    return op is not None
