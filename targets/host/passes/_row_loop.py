# SPDX-License-Identifier: Apache-2.0
"""The loop over rows of a result that reads windows of rows of a padded tensor."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.analysis.indices import index_of
from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import shape_of
from xtc.ir.attributes import UNROLL
from xtc.ir.builders.numbers import linear_offset
from xtc.ir.builders.slices import Offset, extract_slice, slice_offsets
from xtc.ir.mlir import (
    AffineMapAttr,
    BlockArgument,
    InsertionPoint,
    IntegerAttr,
    Operation,
    Value,
)
from xtc_passes.tensor._padding import Padding


@dataclass(frozen=True)
class RowLoop:
    """A loop whose iteration `i` reads rows from `i * factor + offset` on, and no others.

    Attributes:
        op: the `scf.for`, from 0 with step 1.
        trips: its iterations.
        dimension: the dimension of the tensor that the rows are indexed by.
        factor: distance between the windows of consecutive iterations, in rows.
        offset: the first row of the first window.
        window: number of rows that an iteration reads.
        readers: the slices of the tensor.
    """

    op: Operation
    trips: int
    dimension: int
    factor: int
    offset: int
    window: int
    readers: tuple[Operation, ...]

    def rows(self, count: int) -> int:
        """The number of rows that `count` consecutive iterations read."""
        return (count - 1) * self.factor + self.window

    def read_from(self, block: Value, first: Offset) -> None:
        """Let the slices read a block that has the rows from `first` on."""
        for reader in self.readers:
            ip = InsertionPoint(reader)
            starts = slice_offsets(reader)
            starts[self.dimension] = linear_offset([(starts[self.dimension], 1), (first, -1)], ip)
            part = extract_slice(block, starts, shape_of(reader.results[0]), ip)
            reader.results[0].replace_all_uses_with(part)
            reader.erase()


def row_loop(padding: Padding) -> RowLoop | None:
    """The only loop that reads a padded tensor, at the top level of the function, or None."""
    found = {}
    readers = [use.owner.operation for use in padding.result.uses]
    for reader in readers:
        read = _of_reader(reader, padding)
        if read is None:
            return None
        found[read[1:]] = read[0]
    if len(found) != 1:
        return None
    ((dimension, factor, offset, window), loop), *_ = found.items()
    if loop.parent != padding.op.parent or any(not _is_inside(reader, loop) for reader in readers):
        return None
    trips = _trips(loop)
    if not trips:
        return None
    return RowLoop(loop, trips, dimension, factor, offset, window, tuple(readers))


def _of_reader(reader: Operation, padding: Padding) -> tuple[Operation, int, int, int, int] | None:
    """The outermost loop that moves a slice, and its parameters; None for other readers."""
    if reader.name != "tensor.extract_slice" or reader.operands[0] != padding.result:
        return None
    sizes = list(reader.attributes["static_sizes"])
    plain = all(stride == 1 for stride in reader.attributes["static_strides"])
    if not plain or tuple(sizes) != shape_of(reader.results[0]):
        return None
    for dimension, start in enumerate(slice_offsets(reader)):
        if isinstance(start, int):
            continue
        linear = _linear(start)
        if linear is None:
            return None
        counter, factor, offset = linear
        loop = counter.owner.owner.operation
        if loop.name != "scf.for" or counter.arg_number != 0:
            return None
        return loop, dimension, factor, offset, sizes[dimension]
    return None


def _linear(value: Value) -> tuple[BlockArgument, int, int] | None:
    """A value as a loop index times a factor, plus an offset."""
    if isinstance(value, BlockArgument):
        return value, 1, 0
    producer = owner(value)
    operands = [] if producer is None else list(producer.operands)
    counter = operands[0] if operands else None
    if producer is None or not isinstance(counter, BlockArgument):
        return None
    if producer.name == "arith.muli":
        factor = _number(operands[1])
        return None if factor is None else (counter, factor, 0)
    if producer.name == "affine.apply" and len(operands) == 1:
        index = index_of(AffineMapAttr(producer.attributes["map"]).value.results[0])
        return None if index is None else (counter, index.factor(0), index.offset)
    return None


def _number(value: Value) -> int | None:
    producer = owner(value)
    if producer is None or producer.name != "arith.constant":
        return None
    return int(IntegerAttr(producer.attributes["value"]).value)


def _trips(loop: Operation) -> int:
    """Iterations of a loop from 0 with step 1 that is not to be unrolled; 0 for any other."""
    if UNROLL in loop.attributes:
        return 0
    lower, upper, step = (_number(value) for value in list(loop.operands)[:3])
    return upper if upper is not None and (lower, step) == (0, 1) else 0


def _is_inside(op: Operation | None, loop: Operation) -> bool:
    while op is not None and op != loop:
        op = op.parent
    return op is not None
