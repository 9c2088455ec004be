# SPDX-License-Identifier: Apache-2.0
"""Turns data movement into operations that can be distributed, and wraps the rest."""

from __future__ import annotations

from collections.abc import Iterator

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import labels, shape_of
from xtc.ir.builders.control import BLOCKS, THREADS, in_unit_loops
from xtc.ir.builders.generic import generic, yield_
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import InsertionPoint, Operation, Value, all_operations
from xtc_targets.mppa.passes._fusion_groups import FILL, is_plain_insertion

_INSERT = "tensor.insert_slice"


def separate_fills(module: Operation) -> None:
    """Give every reader of a filled tensor a separate copy, because each overwrites it."""
    for op in all_operations(module):
        if op.name == FILL and len(op.results) == 1:
            uses = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
            for user, number in uses[1:]:
                user.operands[number] = op.clone(ip=InsertionPoint(op)).results[0]


def compute_data_movement(module: Operation) -> None:
    """Write data movement as operations: tensors that are inserted or returned uncomputed."""
    for op in list(_top_level(module)):
        if op.name == _INSERT and is_plain_insertion(op) and not _is_nest(op.operands[0]):
            if not _is_computed(op.operands[0]) or _use_count(op.operands[0]) > 1:
                op.operands[0] = _copy(op.operands[0], op)
        elif op.name == "tensor.collapse_shape" and _is_result_of(op.operands[0], "extract_slice"):
            op.operands[0] = _copy(op.operands[0], op)
        elif op.name == "func.return":
            _copy_returned(op)


def run_rest_on_one_pe(module: Operation) -> None:
    """Run operations that cannot be distributed on one PE of one cluster."""
    for op in list(_top_level(module)):
        if op.name.startswith("linalg.") and len(op.results):
            in_unit_loops(op, len(op.operands) - len(op.results), (BLOCKS, THREADS))
        elif op.name == _INSERT and not _is_nest(op.operands[0]):
            in_unit_loops(op, 1, (BLOCKS, THREADS))


def _top_level(module: Operation) -> Iterator[Operation]:
    for function in all_operations(module):
        if function.name == "func.func" and function.regions[0].blocks:
            yield from (op.operation for op in function.regions[0].blocks[0].operations)


def _is_computed(value: Value) -> bool:
    return _is_result_of(value, "linalg.")


def _is_nest(value: Value) -> bool:
    """Whether it is the result of a loop nest that writes to a part of the tensor in place."""
    producer = owner(value)
    return (
        producer is not None
        and producer.name == "scf.forall"
        and _is_result_of(producer.operands[len(producer.operands) - 1], "extract_slice")
    )


def _is_result_of(value: Value, name: str) -> bool:
    producer = owner(value)
    return producer is not None and name in producer.name


def _use_count(value: Value) -> int:
    return sum(1 for _ in value.uses)


def _copy_returned(end: Operation) -> None:
    seen: set[Value] = set()
    for number, value in enumerate(end.operands):
        fresh = any(_is_result_of(value, name) for name in ("linalg.", _INSERT, "scf.forall"))
        if not fresh or value in seen:
            end.operands[number] = _copy(value, end)
        seen.add(value)


def _copy(value: Value, before: Operation) -> Value:
    """A copy of a tensor, as an operation before `before`."""
    shape = shape_of(value)
    row = [Index(((dimension, 1),), 0) for dimension in range(len(shape))]
    ip = InsertionPoint(before)
    with before.location:
        into = empty(shape, value, ip)
        copy = generic([(value, row), (into, row)], len(shape), (), labels(before), ip)
        body = copy.regions[0].blocks[0]
        yield_([body.arguments[0]], InsertionPoint(body))
    return copy.results[0]
