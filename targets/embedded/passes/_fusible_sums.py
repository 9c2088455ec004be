# SPDX-License-Identifier: Apache-2.0
"""Finds int8 contractions with constant weights, and their epilogues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xtc.ir.analysis.contractions import Contraction, contraction
from xtc.ir.analysis.effects import written_memrefs
from xtc.ir.analysis.structured import Structured, body_operations, structured
from xtc.ir.analysis.views import VIEWS, root
from xtc.ir.mlir import (
    InsertionPoint,
    MemRefType,
    Operation,
    OpResult,
    StringAttr,
    Value,
    all_operations,
    memref,
)
from xtc_targets.embedded.passes._stored_order import constant_of


@dataclass(frozen=True, eq=False)
class NarrowContraction:
    """An int8 contraction whose accumulators start from a constant, and its epilogue.

    Attributes:
        found: the contraction; operand 0 is x, operand 1 a constant.
        fill: the operation that writes the initial values.
        start: the initial value.
        reader: the elementwise operation that is the only reader of the sums; None if they are the
            result.
        weights: the constant.
    """

    found: Contraction
    fill: Operation
    start: Value
    reader: Structured | None
    weights: Operation

    @property
    def last(self) -> Operation:
        return self.found.nest.op if self.reader is None else self.reader.op

    @property
    def constant_name(self) -> str:
        return str(StringAttr(self.weights.attributes["sym_name"]).value)

    def erase(self) -> None:
        """Erase the rewritten operations, and the buffer of the sums if it is not the result."""
        sums = self.found.nest.op.operands[2]
        if self.reader is not None:
            self.reader.op.erase()
        self.found.nest.op.erase()
        self.fill.erase()
        users = [use.owner.operation for use in sums.uses]
        if _is_plain_alloc(sums) and all(user.name == "memref.dealloc" for user in users):
            for user in users:
                user.erase()
            sums.owner.operation.erase()


def narrow_contractions(function: Operation) -> Iterator[NarrowContraction]:
    """The candidates of a function; a reader of several sums belongs to the last."""
    claimed: set[Operation] = set()
    for op in reversed(all_operations(function)):
        if op.name.startswith("linalg.") and op.name != "linalg.yield":
            found = _candidate(op)
            if found is None:
                continue
            if found.reader is not None and found.reader.op in claimed:
                found = replace(found, reader=None)
            elif found.reader is not None:
                claimed.add(found.reader.op)
            yield found


def _candidate(op: Operation) -> NarrowContraction | None:
    nest = structured(op)
    found = None if nest is None else contraction(nest)
    if nest is None or found is None or found.widenings != ("arith.extsi", "arith.extsi"):
        return None
    types = [MemRefType(v.type) for v in op.operands if isinstance(v.type, MemRefType)]
    if [str(type.element_type) for type in types] != ["i8", "i8", "i32"]:
        return None
    weights = constant_of(op.operands[1])
    if weights is None or not all(map(_has_steps, op.operands)):
        return None
    fill, readers = _around(op)
    if fill is None:
        return None
    reader = _reader(nest, readers)
    return NarrowContraction(found, fill, fill.operands[0], reader, weights)


def _has_steps(value: Value) -> bool:
    """Whether the strides and the offset of a buffer are static."""
    strides, offset = MemRefType(value.type).get_strides_and_offset()
    dynamic = MemRefType.get_dynamic_stride_or_offset()
    return dynamic not in (*strides, offset)


def _is_plain_alloc(value: Value) -> bool:
    return isinstance(value, OpResult) and value.owner.name == "memref.alloc"


def _around(op: Operation) -> tuple[Operation | None, list[Operation]]:
    """The fill that writes the initial values of the sums, and the later users of the sums.

    The buffer may have other contents before the fill, and after a later one.
    """
    order = _order(op)
    users = [use.owner.operation for use in op.operands[2].uses]
    if any(user not in order for user in users):
        return None, []
    users = sorted(set(users), key=lambda user: order[user])
    users = [user for user in users if user.name != "memref.dealloc"]
    here = users.index(op)
    before, after = users[:here], users[here + 1 :]
    if not before or before[-1].name != "linalg.fill":
        return None, []
    ends = [n for n, user in enumerate(after) if _overwrites(user, op.operands[2])]
    return before[-1], after[: ends[0]] if ends else after


def _overwrites(op: Operation, buffer: Value) -> bool:
    return op.name == "linalg.fill" and bool(op.operands[1] == buffer)


def _reader(nest: Structured, readers: Sequence[Operation]) -> Structured | None:
    """The elementwise reader of the sums, if nothing else uses them, or None."""
    op, sums = nest.op, nest.op.operands[2]
    if not _is_plain_alloc(sums) or len(readers) != 1:
        return None
    reader = structured(readers[0])
    if reader is None or reader.reductions or reader.op.name != "linalg.generic":
        return None
    numbers_read = [n for n, value in enumerate(reader.op.operands) if value == sums]
    if len(numbers_read) != 1 or numbers_read[0] == reader.destination:
        return None
    row = [index.loop for index in reader.indices[numbers_read[0]]]
    if sorted(loop for loop in row if loop is not None) != sorted(reader.out) or None in row:
        return None
    if any(inner.name == "linalg.index" for inner in body_operations(reader.op)):
        return None
    order = _order(op)
    between = [inner for inner in order if order[op] < order[inner] < order[reader.op]]
    touched = {root(value) for inner in between for value in written_memrefs(inner)}
    x, y = op.operands[0], reader.op.operands[-1]
    if root(x) in touched or (root(x) == root(y) and not _can_move(reader)):
        return None
    return reader


def _can_move(reader: Structured) -> bool:
    """Whether the result of an operation can be written to a new buffer.

    It can if the operation writes all of it, and later users refer to the buffer itself.
    """
    y = reader.op.operands[-1]
    if not _is_plain_alloc(y) or reader.reads_destination:
        return False
    order = _order(reader.op)
    last = order[reader.op]
    before = [op for op in (_in_block(use.owner.operation, order) for use in y.uses)
              if op is None or order[op] < last]  # fmt: skip
    return all(op is not None and op.name not in VIEWS for op in before)


def _in_block(op: Operation, order: Mapping[Operation, int]) -> Operation | None:
    """The operation of a block that is, or contains, `op`."""
    while op not in order and op.parent is not None:
        op = op.parent.operation
    return op if op in order else None


def move_result(reader: Structured) -> None:
    """Let an operation and the later users use a new buffer for its result."""
    order = _order(reader.op)
    y, start = reader.op.operands[-1], order[reader.op]
    # Collected before anything changes, because equality of operations depends on their operands.
    later = [
        use
        for use in y.uses
        if (around := _in_block(use.owner.operation, order)) is not None and order[around] >= start
    ]
    with reader.op.location, InsertionPoint(reader.op):
        new = memref.alloc(y.type, [], [])
    for use in later:
        use.owner.operation.operands[use.operand_number] = new


def _order(op: Operation) -> dict[Operation, int]:
    return {inner.operation: n for n, inner in enumerate(op.block.operations)}
