# SPDX-License-Identifier: Apache-2.0
"""compute-inside-borders: computes padded tensors directly inside their borders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import structured
from xtc.ir.mlir import InsertionPoint, Operation, OpResult, Value, all_operations, tensor
from xtc.ir.passes import Pass

_BORDERS = (
    "arith.constant",
    "linalg.fill",
    "tensor.empty",
    "tensor.extract_slice",
    "tensor.insert_slice",
)


@dataclass(frozen=True)
class ComputeInsideBorders(Pass):
    """Let the operation that computes an inserted tensor write into the tensor around it.

    The border is filled first. Other readers of the inserted tensor read a slice of the padded one.

    Before:
        %y = linalg.generic outs(%e : tensor<8x8xi8>)
        %f = linalg.fill .. a border in %p : tensor<10x10xi8>
        %q = tensor.insert_slice %y into %f[1, 1] [8, 8] [1, 1]
        use(%y)
    After:
        %f = linalg.fill .. a border in %p : tensor<10x10xi8>
        %s = tensor.extract_slice %f[1, 1] [8, 8] [1, 1]
        %y = linalg.generic outs(%s)
        %q = tensor.insert_slice %y into %f[1, 1] [8, 8] [1, 1]
        %z = tensor.extract_slice %q[1, 1] [8, 8] [1, 1]
        use(%z)
    """

    name: ClassVar[str] = "compute-inside-borders"

    def run(self, module: Operation) -> None:
        with module.context:
            for op in all_operations(module):
                if op.name == "tensor.insert_slice" and len(op.operands) == 2:
                    producer = _producer(op)
                    around = None if producer is None else _around(op, producer)
                    if producer is not None and around is not None:
                        with op.location:
                            _rewrite(op, producer, around)


def _producer(insert: Operation) -> Operation | None:
    """The operation that computes the inserted tensor in an empty tensor, or None."""
    source = insert.operands[0]
    if not isinstance(source, OpResult):
        return None
    nest = structured(source.owner.operation)
    if nest is None or nest.op.name == "linalg.fill" or nest.reads_destination:
        return None
    out = nest.op.operands[nest.destination]
    is_empty = isinstance(out, OpResult) and out.owner.operation.name == "tensor.empty"
    return nest.op if is_empty and out.type == source.type else None


def _around(insert: Operation, producer: Operation) -> list[Operation] | None:
    """The operations after `producer` that fill the border; None if one depends on `producer`."""
    order = {op.operation: n for n, op in enumerate(producer.block.operations)}
    if insert not in order:
        return None
    found: set[Operation] = set()
    for op in _origins(insert.operands[1]):
        if op not in order or order[op] < order[producer]:
            continue
        if op.name not in _BORDERS:
            return None
        found.add(op)
    return sorted(found, key=lambda op: order[op])


def _origins(value: Value) -> Iterator[Operation]:
    """The chain of operations that a tensor comes from."""
    todo, seen = [value], set()
    while todo:
        value = todo.pop()
        op = value.owner.operation if isinstance(value, OpResult) else None
        if op is None or op in seen:
            continue
        seen.add(op)
        yield op
        if op.name in _BORDERS:
            todo += list(op.operands)


def _rewrite(insert: Operation, producer: Operation, around: list[Operation]) -> None:
    result = producer.results[0]
    readers = [use for use in result.uses if use.owner.operation != insert]
    for op in around:
        op.move_before(producer)
    part = _part(insert, insert.operands[1], InsertionPoint(producer))
    producer.operands[len(producer.operands) - 1] = part
    insert.move_after(producer)
    if readers:
        behind = InsertionPoint(_next(insert))
        read = _part(insert, insert.results[0], behind)
        for use in readers:
            use.owner.operation.operands[use.operand_number] = read


def _part(insert: Operation, whole: Value, ip: InsertionPoint) -> Value:
    """The slice of `whole` that the insertion writes."""
    fields = (insert.attributes[f"static_{name}"] for name in ("offsets", "sizes", "strides"))
    return tensor.extract_slice(insert.operands[0].type, whole, [], [], [], *fields, ip=ip)


def _next(op: Operation) -> Operation:
    operations = [inner.operation for inner in op.block.operations]
    return operations[operations.index(op) + 1]
