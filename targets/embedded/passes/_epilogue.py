# SPDX-License-Identifier: Apache-2.0
"""The elementwise epilogue of a contraction, computed on each accumulator in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import Structured, body_operations
from xtc.ir.builders import numbers, vector_pieces
from xtc.ir.builders.numbers import Number
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.mlir import MemRefType, Operation, Value, VectorType, memref, vector

_ELEMENTWISE = ("arith.", "math.")


@dataclass(frozen=True)
class Epilogue:
    """The epilogue of a contraction.

    Attributes:
        nest: the contraction.
        reader: the elementwise operation that reads its sums; None if they are the result.
    """

    nest: Structured
    reader: Structured | None

    def finish(self, positions: dict[int, Number], total: Value, column: int | None) -> None:
        """Compute the epilogue of a sum, or of a vector of sums along a loop, and store it."""
        lanes = _lanes(total)
        if lanes == 1 or column is None:
            self._finish(positions, total, 1)
        elif self._is_contiguous(column):
            self._finish(positions, total, lanes)
        else:
            for lane in range(lanes):
                here = {**positions, column: numbers.add(positions[column], lane)}
                self._finish(here, vector.extract(total, [], [lane]), 1)

    def _finish(self, positions: dict[int, Number], total: Value, lanes: int) -> None:
        if self.reader is None:
            _store(total, self.nest.op.operands[2], _indices(self.nest, 2, positions), lanes)
            return
        loops: dict[int, Number] = {
            theirs: positions.get(own, 0) for own, theirs in self._pairs(self.reader)
        }
        _inlined(self.reader, self._position(self.reader), total, loops)

    def _position(self, reader: Structured) -> int:
        """The number of the reader's operand that has the sums."""
        sums = self.nest.op.operands[2]
        return next(n for n, value in enumerate(reader.op.operands) if value == sums)

    def _pairs(self, reader: Structured) -> list[tuple[int, int]]:
        """The loops of the contraction, each with the corresponding loop of the reader."""
        rows = zip(reader.indices[self._position(reader)], self.nest.indices[2], strict=True)
        return [
            (own.loop, theirs.loop)
            for theirs, own in rows
            if own.loop is not None and theirs.loop is not None
        ]

    def _is_contiguous(self, column: int) -> bool:
        """Whether all operands are contiguous along a loop, or invariant."""
        if self.reader is None:
            return _walks(self.nest, 2, column, may_stay=False)
        loop = dict(self._pairs(self.reader)).get(column)
        inner = [op for op in body_operations(self.reader.op) if op.name != "linalg.yield"]
        if loop is None or not all(op.name.startswith(_ELEMENTWISE) for op in inner):
            return False
        number = self._position(self.reader)
        read = [n for n in _used(self.reader) if n != number]
        return _walks(self.reader, self.reader.destination, loop, may_stay=False) and all(
            _walks(self.reader, n, loop, may_stay=True) for n in read
        )


def _lanes(value: Value) -> int:
    return int(VectorType(value.type).shape[0]) if isinstance(value.type, VectorType) else 1


def _used(reader: Structured) -> list[int]:
    """The operands whose elements the body reads."""
    arguments = enumerate(reader.body.arguments)
    return [n for n, argument in arguments if any(True for _ in argument.uses)]


def _walks(nest: Structured, operand: int, loop: int, *, may_stay: bool) -> bool:
    """Whether an operand is contiguous along a loop, or with `may_stay`, invariant."""
    value = nest.op.operands[operand]
    if not isinstance(value.type, MemRefType):
        return may_stay
    strides, _ = MemRefType(value.type).get_strides_and_offset()
    step = sum(
        stride * index.factor(loop)
        for stride, index in zip(strides, nest.indices[operand], strict=True)
    )
    return _ends_in(nest, operand, loop) if step == 1 else may_stay and step == 0


def _ends_in(nest: Structured, operand: int, loop: int) -> bool:
    """Whether only the last index depends on the loop: vectors run along that dimension."""
    if not nest.indices[operand]:
        return False
    *others, last = nest.indices[operand]
    return last.factor(loop) == 1 and not any(index.factor(loop) for index in others)


def _inlined(reader: Structured, number: int, total: Value, positions: dict[int, Number]) -> None:
    """Inline the body of an elementwise operation on an element or a vector of each operand."""
    op, lanes = reader.op, _lanes(total)
    known: dict[Value, Value] = {reader.body.arguments[number]: total}
    for position in _used(reader):
        if position != number:
            known[reader.body.arguments[position]] = _element(reader, position, positions, lanes)
    for inner in body_operations(op):
        operands = [known.get(operand, operand) for operand in inner.operands]
        if inner.name == "linalg.yield":
            indices = _indices(reader, reader.destination, positions)
            _store(_wide(operands[0], lanes), op.operands[-1], indices, lanes)
            return
        known |= zip(inner.results, _copy(inner, operands, lanes).results, strict=True)


def _copy(inner: Operation, operands: Sequence[Value], lanes: int) -> Operation:
    if lanes == 1 or not operands:
        copy = inner.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        return copy
    types = [vector_pieces.piece_type(result.type, lanes) for result in inner.results]
    return rebuilt(inner, [_wide(operand, lanes) for operand in operands], types)


def _wide(value: Value, lanes: int) -> Value:
    """A scalar broadcast to lanes; vectors are unchanged."""
    is_wide = isinstance(value.type, VectorType)
    return value if is_wide else vector_pieces.broadcast(value, lanes)


def _element(reader: Structured, operand: int, positions: dict[int, Number], lanes: int) -> Value:
    value = reader.op.operands[operand]
    if not isinstance(value.type, MemRefType):
        return value
    indices = _indices(reader, operand, positions)
    strides, _ = MemRefType(value.type).get_strides_and_offset()
    loops = [index.loop for index in reader.indices[reader.destination]]
    along = loops[-1] if loops else None
    if lanes > 1 and along is not None and _ends_in(reader, operand, along) and strides[-1] == 1:
        type = VectorType.get([lanes], MemRefType(value.type).element_type)
        return vector.load(type, value, indices)
    return memref.load(value, indices)


def _store(value: Value, out: Value, indices: list[Value], lanes: int) -> None:
    if lanes == 1:
        memref.store(value, out, indices)
    else:
        vector.store(value, out, indices)


def _indices(nest: Structured, operand: int, positions: dict[int, Number]) -> list[Value]:
    found = []
    for index in nest.indices[operand]:
        terms = [(positions.get(loop, 0), factor) for loop, factor in index.factors]
        found.append(numbers.as_value(numbers.add(numbers.linear_offset(terms), index.offset)))
    return found
