# SPDX-License-Identifier: Apache-2.0
"""Finds the single vector read of an operation's result, through slices in loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders import numbers
from xtc.ir.builders.numbers import Number
from xtc.ir.builders.slices import slice_offsets
from xtc.ir.mlir import (
    AffineDimExpr,
    AffineMapAttr,
    DenseI64ArrayAttr,
    InsertionPoint,
    Operation,
    Value,
)

_SLICE = "tensor.extract_slice"
_READ = "vector.transfer_read"


@dataclass(frozen=True)
class Reading:
    """The only read of a tensor: a vector of a slice.

    Attributes:
        op: the `vector.transfer_read`.
        offsets: offsets of the slice, by dimension of the tensor, each as a sum.
        lanes: for each dimension of the vector, the dimension of the tensor; None if its elements
            are broadcast.
        ip: the outermost point at which all offsets are defined.
        chain: the slices, then `op`.
    """

    op: Operation
    offsets: tuple[tuple[Number, ...], ...]
    lanes: tuple[int | None, ...]
    ip: InsertionPoint
    chain: tuple[Operation, ...]

    def erase(self) -> None:
        """Erase the operations that nothing reads."""
        for op in reversed(self.chain):
            op.erase()


def reading_of(producer: Operation) -> Reading | None:
    """The only read of the result of `producer`, if it reads no part twice, or None."""
    value, last = producer.results[0], producer
    dims = tuple(range(len(shape_of(value))))
    offsets: list[list[Number]] = [[] for _ in dims]
    slices: list[Operation] = []
    while (op := _only_reader(value)) is not None and op.name == _SLICE:
        if any(step != 1 for step in DenseI64ArrayAttr(op.attributes["static_strides"])):
            return None
        begins = slice_offsets(op)
        for dim, begin in zip(dims, begins, strict=True):
            offsets[dim].append(begin)
        if any(not isinstance(begin, int) for begin in begins):
            last = op
        slices.append(op)
        dims = _kept(dims, op)
        value = op.results[0]
    if op is None or op.name != _READ or not _is_whole(op):
        return None
    if not _is_each_new(last, producer, [n for row in offsets for n in row]):
        return None
    lanes = AffineMapAttr(op.attributes["permutation_map"]).value.results
    return Reading(
        op,
        tuple(map(tuple, offsets)),
        tuple(dims[lane.position] if isinstance(lane, AffineDimExpr) else None for lane in lanes),
        InsertionPoint.after(last),
        (*slices, op),
    )


def _only_reader(value: Value) -> Operation | None:
    uses = list(value.uses)
    return uses[0].owner.operation if len(uses) == 1 and uses[0].operand_number == 0 else None


def _kept(dims: Sequence[int], op: Operation) -> tuple[int, ...]:
    """The dimensions that a slice keeps; it drops dimensions of size 1."""
    left, kept = list(shape_of(op.results[0])), []
    for dim, size in zip(dims, DenseI64ArrayAttr(op.attributes["static_sizes"]), strict=True):
        if left and left[0] == size:
            kept.append(dim)
            left.pop(0)
    return tuple(kept)


def _is_whole(op: Operation) -> bool:
    """Whether a vector read starts at the origin, has no mask, and stays in its tensor."""
    masked = list(op.attributes["operandSegmentSizes"])[-1]
    starts = list(op.operands)[1 : len(op.operands) - 1 - masked]
    bounds = all(bound.value for bound in op.attributes["in_bounds"])
    return bounds and not masked and all(numbers.is_int(numbers.known(s), 0) for s in starts)


def _is_each_new(last: Operation, producer: Operation, offsets: Sequence[Number]) -> bool:
    """Whether each loop between `producer` and `last` changes the elements that are read."""
    moved = _sources([number for number in offsets if not isinstance(number, int)])
    loop = last.parent
    while loop != producer.parent:
        if loop is None or loop.name != "scf.for":
            return False
        if loop.regions[0].blocks[0].arguments[0] not in moved:
            return False
        loop = loop.operation.parent
    return True


def _sources(values: Sequence[Value]) -> set[Value]:
    """The values, and all values that they are computed from."""
    found: set[Value] = set()
    left = list(values)
    while left:
        value = left.pop()
        if value not in found:
            found.add(value)
            producer = owner(value)
            left += list(producer.operands) if producer is not None else []
    return found
