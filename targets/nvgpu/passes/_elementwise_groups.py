# SPDX-License-Identifier: Apache-2.0
"""Groups of elementwise operations on a thread's vectors that one loop can compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xtc.ir.mlir import (
    Block,
    FloatType,
    IntegerType,
    Operation,
    OpResult,
    Value,
    VectorType,
    all_operations,
)
from xtc_targets.nvgpu.passes._instruction_counts import instructions

_LEAST = 17
"""Elements of the shortest vector of a group."""


@dataclass(frozen=True)
class Group:
    """Elementwise operations on vectors of one length that depend on each other.

    Attributes:
        before: the operation before which all of them can be computed, and the first user of one.
        ops: the operations, in order.
    """

    before: Operation
    ops: tuple[Operation, ...]

    @property
    def count(self) -> int:
        """The number of elements of each vector."""
        return int(VectorType(self.ops[0].results[0].type).shape[0])

    @property
    def instructions(self) -> int:
        """The number of instructions of straight-line code."""
        return self.count * sum(map(instructions, self.ops))

    def inputs(self) -> list[Value]:
        """The vectors that operations outside of the group compute, except for splats."""
        own = {op.results[0] for op in self.ops}
        operands = dict.fromkeys(value for op in self.ops for value in op.operands)
        return [
            value
            for value in operands
            if value not in own and is_vector(value) and not is_splat(value)
        ]

    def outputs(self) -> list[Value]:
        """The results that operations outside of the group use."""
        own = set(self.ops)
        return [
            op.results[0]
            for op in self.ops
            if any(use.owner.operation not in own for use in op.results[0].uses)
        ]


def groups_in(block: Block) -> list[Group]:
    """The groups of a block, in the order in which their results are used first."""
    ops = [view.operation for view in block.operations]
    waiting: dict[int, list[Operation]] = {}
    group_of: dict[Value, int] = {}
    found: list[Group] = []
    for op in ops:
        if _is_elementwise(op):
            count = int(VectorType(op.results[0].type).shape[0])
            waiting.setdefault(count, []).append(op)
            group_of[op.results[0]] = count
            continue
        if not waiting:
            continue
        used = (value for inner in all_operations(op) for value in inner.operands)
        for count in {group_of[value] for value in used if value in group_of}:
            found += [Group(op, part) for part in _connected(waiting.pop(count, []))]
    return found


def _connected(ops: Sequence[Operation]) -> Iterator[tuple[Operation, ...]]:
    """Divide operations into parts that use no results of each other."""
    part_of: dict[Value, list[Operation]] = {}
    for op in ops:
        parts = {id(part): part for v in op.operands if (part := part_of.get(v)) is not None}
        merged = [op]
        for part in parts.values():
            merged += part
        for each in merged:
            part_of[each.results[0]] = merged
    order = {op: number for number, op in enumerate(ops)}
    for part in {id(part): part for part in part_of.values()}.values():
        yield tuple(sorted(part, key=order.__getitem__))


def is_vector(value: Value) -> bool:
    """Whether a value is a vector."""
    return isinstance(value.type, VectorType)


def is_splat(value: Value) -> bool:
    """Whether all elements of a vector are known to be one number."""
    if not isinstance(value, OpResult):
        return False
    owner = value.owner
    if owner.name == "vector.broadcast":
        return not is_vector(owner.operands[0])
    return owner.name == "arith.constant" and bool(owner.attributes["value"].is_splat)


def _is_elementwise(op: Operation) -> bool:
    """Whether an operation computes each element of a long vector from those of its operands."""
    if not op.name.startswith(("arith.", "math.")) or len(op.results) != 1 or len(op.regions):
        return False
    if op.name == "arith.constant" or not _has_arrays(op.results[0]):
        return False
    count = VectorType(op.results[0].type).shape
    return count[0] >= _LEAST and all(
        _has_arrays(value) and VectorType(value.type).shape == count
        for value in op.operands
        if is_vector(value)
    )


def _has_arrays(value: Value) -> bool:
    """Whether a vector has one dimension, and elements that memory can hold."""
    if not is_vector(value):
        return False
    type = VectorType(value.type)
    return type.rank == 1 and isinstance(type.element_type, IntegerType | FloatType)
