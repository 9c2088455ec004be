# SPDX-License-Identifier: Apache-2.0
"""Reductions along rows: recognizes them, and writes the vector code of a block of rows."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.analysis.structured import Structured, element_bits
from xtc.ir.builders.affine import shifted
from xtc.ir.builders.control import loop
from xtc.ir.builders.numbers import index_constant
from xtc.ir.builders.vector_pieces import broadcast
from xtc.ir.mlir import (
    FloatType,
    MemRefType,
    Value,
    VectorType,
    memref,
    vector,
)
from xtc_targets.host.passes._square_blocks import computed, runs_on_vectors, transposed

_FEWEST = 4  # least rows of a vector
_NARROWEST = 32  # least bits of elements: narrower ones are computed in wider types


@dataclass(frozen=True)
class RowReduction:
    """result[row] reduces over k a function of operands[row, k] and of other operands.

    Attributes:
        nest: the operation, on buffers.
        rows: the number of the loop over rows.
        reduction: the number of the reduction loop.
        lanes: number of rows that are reduced side by side, a power of two.
    """

    nest: Structured
    rows: int
    reduction: int
    lanes: int

    def write(self, rows: int, reduction: int) -> None:
        """Write the loops over `rows` and iterations of K, both multiples of `lanes`."""
        with loop(0, rows, self.lanes) as body:
            block = _Block(self, body.index)
            block.store(block.sum(reduction, block.load(self.nest.destination)))


def row_reduction(nest: Structured, bits: int) -> RowReduction | None:
    """The operation as a reduction along rows; None for others, and for few rows or columns."""
    long = [loop for loop in nest.out if nest.extents[loop] > 1]
    if not nest.crosses_rows or len(long) != 1 or len(nest.reductions) != 1:
        return None
    (rows,), (reduction,) = long, nest.reductions
    found = RowReduction(nest, rows, reduction, _lanes(nest, rows, reduction, bits))
    fits = all(_is_readable(found, number) for number in range(len(nest.indices)))
    return found if fits and found.lanes >= _FEWEST and runs_on_vectors(nest) else None


def _lanes(nest: Structured, rows: int, reduction: int, bits: int) -> int:
    """The largest power of two up to the lanes of a register, the rows and the columns."""
    width = element_bits(nest.op.operands[nest.destination])
    most = min(bits // width, nest.extents[rows], nest.extents[reduction])
    return 1 << max(most, 1).bit_length() - 1


def _is_readable(found: RowReduction, number: int) -> bool:
    nest, value = found.nest, found.nest.op.operands[number]
    if not isinstance(value.type, MemRefType):
        return not nest.indices[number] and isinstance(value.type, FloatType)
    if value.type.element_type != nest.op.operands[nest.destination].type.element_type:
        return False
    if not isinstance(value.type.element_type, FloatType) or element_bits(value) < _NARROWEST:
        return False
    if any(index.loop is None for index in nest.indices[number]):
        return False
    if nest.uses_loop(number, found.reduction):
        return number != nest.destination and _is_dense(nest, number, found.reduction)
    return not nest.uses_loop(number, found.rows) or _is_dense(nest, number, found.rows)


def _is_dense(nest: Structured, number: int, loop: int) -> bool:
    """Whether the loop runs over contiguous elements of the last dimension of a buffer."""
    strides, _ = nest.op.operands[number].type.get_strides_and_offset()
    dimension = nest.position(number, loop)
    return dimension == len(strides) - 1 and strides[-1] == 1


@dataclass(frozen=True)
class _Block:
    """Writes the code of `lanes` rows, the first of which is `row`."""

    found: RowReduction
    row: Value

    def sum(self, reduction: int, totals: Value) -> Value:
        """The loop over K; its results."""
        nest = self.found.nest
        fixed = {
            number: self.load(number)
            for number in range(nest.destination)
            if not nest.uses_loop(number, self.found.reduction)
        }
        with loop(0, reduction, self.found.lanes, [totals]) as body:
            moving = {
                number: self._columns(number, body.index)
                for number in range(nest.destination)
                if number not in fixed
            }
            (total,) = body.carried
            for step in range(self.found.lanes):
                values = {number: columns[step] for number, columns in moving.items()}
                arguments = {**fixed, **values, nest.destination: total}
                total = computed(nest, arguments, self.found.lanes)
            body.following = [total]
        return body.results[0]

    def load(self, number: int) -> Value:
        """The elements of an operand that has one per row, or a single one, broadcast to lanes."""
        value = self.found.nest.op.operands[number]
        if not isinstance(value.type, MemRefType):
            return broadcast(value, self.found.lanes)
        if self.found.nest.uses_loop(number, self.found.rows):
            return self._read(number, self._indices(number, self.row, None))
        return broadcast(self._scalar(number, None), self.found.lanes)

    def store(self, totals: Value) -> None:
        number = self.found.nest.destination
        indices = self._indices(number, self.row, None)
        vector.store(totals, self.found.nest.op.operands[number], indices)

    def _columns(self, number: int, column: Value) -> list[Value]:
        """The columns from `column` on, each as a vector over the rows."""
        lanes = range(self.found.lanes)
        if not self.found.nest.uses_loop(number, self.found.rows):
            return [
                broadcast(self._scalar(number, shifted(column, lane)), self.found.lanes)
                for lane in lanes
            ]
        return transposed(
            [self._read(number, self._indices(number, shifted(self.row, n), column)) for n in lanes]
        )

    def _read(self, number: int, indices: list[Value]) -> Value:
        buffer = self.found.nest.op.operands[number]
        type = VectorType.get([self.found.lanes], buffer.type.element_type)
        return vector.load(type, buffer, indices)

    def _scalar(self, number: int, column: Value | None) -> Value:
        buffer = self.found.nest.op.operands[number]
        return memref.load(buffer, self._indices(number, None, column))

    def _indices(self, number: int, row: Value | None, column: Value | None) -> list[Value]:
        counters = {self.found.rows: row, self.found.reduction: column}
        found = [counters.get(index.loop or 0) for index in self.found.nest.indices[number]]
        return [_zero() if counter is None else counter for counter in found]


def _zero() -> Value:
    return index_constant(0)
