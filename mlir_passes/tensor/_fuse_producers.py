# SPDX-License-Identifier: Apache-2.0
"""Fuses the producer of an operand into a loop, where it is computed tile by tile."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.core.errors import CompileError
from xtc.ir.analysis import linalg_ops as linalg
from xtc.ir.attributes import FUSED_PREFIX
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import (
    AffineConstantExpr,
    AffineExpr,
    AffineMap,
    AffineMapAttr,
    AffineSymbolExpr,
    DenseI64ArrayAttr,
    InsertionPoint,
    Operation,
    OpResult,
    RankedTensorType,
    UnitAttr,
    Value,
    affine,
    all_operations,
    tensor,
)
from xtc.ir.transform import apply_script
from xtc.loops.script import Fuse
from xtc_passes.tensor._moved_data import moves_data

_ANY = "!transform.any_op"
_PURE = ("linalg.", "tensor.")
_DYNAMIC = -(1 << 63)
"""The static offset that stands for a dynamic one."""


def fuse_producer(module: Operation, action: Fuse) -> None:
    """Fuse the producer of an operand of the marked operation into its loop.

    A graph node may be several operations: the initial value of a reduction, the reduction, the
    rounding of its result. All operations of the producer's node are fused.
    """
    (op,) = linalg.operations_with(module, action.mark)
    whole = linalg.owner(_root(op.operands[action.operand]))
    node = linalg.graph_node(whole) if whole is not None else None
    todo = [(action.mark, action.operand)]
    while todo:
        mark, operand = todo.pop()
        (op,) = linalg.operations_with(module, mark)
        fused = f"{FUSED_PREFIX}{len(todo)}.{operand}.{mark}"
        _isolate(op, operand, fused)
        _fuse(module, fused, action.loop)
        op = _only_used(module, fused)
        _shrink_empty(op)
        todo += [(fused, number) for number in _own_parts(op, node)]
    _erase_unused(module)


def is_fusable(value: Value) -> bool:
    """Whether the producer of the value can be tiled, or rewritten so that it can."""
    owner = linalg.owner(value)
    return moves_data(value) or (owner is not None and owner.name.startswith("linalg."))


def _fuse(module: Operation, producer: str, loop: str) -> None:
    match = "transform.structured.match attributes"
    apply_script(
        module,
        f"%p = {match} {{{producer}}} in %root : ({_ANY}) -> {_ANY}\n"
        f"%l = {match} {{{loop}}} in %root : ({_ANY}) -> {_ANY}\n"
        "%f, %c = transform.structured.fuse_into_containing_op %p into %l "
        f": ({_ANY}, {_ANY}) -> ({_ANY}, {_ANY})",
    )


def _only_used(module: Operation, mark: str) -> Operation:
    """The marked operation in the loop; its unused original outside of the loop is erased."""
    used = []
    for op in linalg.operations_with(module, mark):
        if _is_used(op):
            used.append(op)
        else:
            op.erase()
    (op,) = used
    return op


def _erase_unused(module: Operation) -> None:
    """Erase the operations that only the fused operand needed."""
    for op in reversed(all_operations(module)):
        if op.name.startswith(_PURE) and len(op.results) and not _is_used(op):
            op.erase()


def _is_used(op: Operation) -> bool:
    return any(True for result in op.results for _ in result.uses)


def _shrink_empty(op: Operation) -> None:
    """Write to a tensor of the tile's size, instead of a slice of a larger empty one."""
    for number in range(linalg.input_count(op), len(op.operands)):
        value = op.operands[number]
        owner = linalg.owner(_root(value))
        if owner is not None and owner.name == "tensor.empty":
            with op.context, op.location, InsertionPoint(op):
                op.operands[number] = empty(value.type.shape, value)


def _own_parts(op: Operation, node: str | None) -> list[int]:
    """Operands of the fused operation that the same graph node computes."""
    owners = [linalg.owner(_root(value)) for value in op.operands]
    return [
        number
        for number, owner in enumerate(owners)
        if owner is not None and owner.name.startswith("linalg.")
        if owner.name == "linalg.fill" or (node is not None and linalg.graph_node(owner) == node)
    ]


def _isolate(op: Operation, operand: int, mark: str) -> None:
    """Copy the producer of an operand for this use alone, and mark the copy.

    The copy then has no other users, and the users of the original are unaffected. The operand
    becomes one slice of the copy, next to `op`.
    """
    value = op.operands[operand]
    owner = linalg.owner(_root(value))
    if owner is None or not owner.name.startswith("linalg."):
        raise CompileError(f"operand {operand} of {op.name} is not a slice of a result")
    producer = owner.clone(InsertionPoint(owner)).operation
    producer.attributes[mark] = UnitAttr.get(op.context)
    source = producer.results[OpResult(_root(value)).result_number]
    slices = _slices(value)
    op.operands[operand] = _merged(op, source, slices) if slices else source


def _slices(value: Value) -> list[Operation]:
    """The chain of slices that `value` consists of, the last slice first."""
    found = []
    owner = linalg.owner(value)
    while owner is not None and owner.name == "tensor.extract_slice":
        found.append(owner)
        owner = linalg.owner(owner.operands[0])
    return found


def _root(value: Value) -> Value:
    slices = _slices(value)
    return slices[-1].operands[0] if slices else value


def _merged(op: Operation, source: Value, slices: Sequence[Operation]) -> Value:
    """One slice, before `op`, equal to a chain of slices of full rank and stride 1."""
    statics = [DenseI64ArrayAttr(slice_op.attributes["static_offsets"]) for slice_op in slices]
    dynamics = [iter(list(slice_op.operands)[1:]) for slice_op in slices]
    with op.context, op.location, InsertionPoint(op):
        offsets: list[int] = []
        operands: list[Value] = []
        for parts in zip(*statics, strict=True):
            known = sum(part for part in parts if part != _DYNAMIC)
            values = [
                next(values)
                for part, values in zip(parts, dynamics, strict=True)
                if part == _DYNAMIC
            ]
            offsets.append(_DYNAMIC if values else known)
            operands += [_sum(values, known)] if values else []
        type = RankedTensorType(slices[0].results[0].type)
        window = (offsets, list(type.shape), [1] * len(offsets))
        return tensor.extract_slice(type, source, operands, [], [], *window)


def _sum(values: Sequence[Value], known: int) -> Value:
    if len(values) == 1 and known == 0:
        return values[0]
    total: AffineExpr = AffineConstantExpr.get(known)
    for position in range(len(values)):
        total = total + AffineSymbolExpr.get(position)
    return affine.apply(AffineMapAttr.get(AffineMap.get(0, len(values), [total])), list(values))
