# SPDX-License-Identifier: Apache-2.0
"""From the accumulators of a contraction to its result, in rows of up to 16 bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import Structured, body_operations
from xtc.ir.builders import control
from xtc.ir.builders.control import branch
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import (
    Number,
    add,
    compare,
    divide_unsigned,
    multiply,
    remainder_unsigned,
)
from xtc.ir.mlir import (
    F32Type,
    FloatType,
    IndexType,
    MemRefType,
    Value,
    VectorType,
    arith,
    memref,
    vector,
)
from xtc.ir.mlir_llvm import llvm
from xtc_targets.nvgpu.passes._mma_loop import ThreadPosition
from xtc_targets.nvgpu.passes._mma_tiling import Tiling
from xtc_targets.nvgpu.passes._panel_reads import GROUP
from xtc_targets.nvgpu.passes._thread_code import all_of, as_i32

_WIDEST = 16  # bytes of one access
_ACCUMULATOR_BYTES = 4


@dataclass(frozen=True)
class Result:
    """The destination of a block's tile of a contraction.

    Attributes:
        memref: the result, or what has been made of it.
        batch: the block's indices of the leading dimensions.
        row, column: with which the tile begins.
        epilogue: what is done with each element, and the number of the operand that it is; None
            where the accumulators are the result.
    """

    memref: Value
    batch: tuple[Number, ...]
    row: Number
    column: Number
    epilogue: tuple[Structured, int] | None

    @property
    def sizes(self) -> tuple[int, int]:
        rows, columns = MemRefType(self.memref.type).shape[-2:]
        return int(rows), int(columns)


def store_accumulators(
    tiling: Tiling, shared: Value, position: ThreadPosition, accumulators: list[list[list[Value]]]
) -> None:
    """Store the accumulators of a warp to shared memory, row by row."""
    pair = VectorType.get([2], F32Type.get())
    row = add(position.row, divide_unsigned(position.lane, 4))
    column = add(position.column, multiply(remainder_unsigned(position.lane, 4), 2))
    first = add(multiply(row, tiling.result_stride), column)
    begin = advanced(shared, as_i32(multiply(first, _ACCUMULATOR_BYTES)))
    for i, tiles in enumerate(accumulators):
        for j, tile in enumerate(tiles):
            for half in range(2):
                behind = (GROUP * i + 8 * half) * tiling.result_stride + 8 * j
                value = vector.from_elements(pair, tile[2 * half : 2 * half + 2])
                llvm.store(
                    value,
                    advanced(begin, behind * _ACCUMULATOR_BYTES),
                    alignment=2 * _ACCUMULATOR_BYTES,
                )


def write_result(tiling: Tiling, shared: Value, thread: Value, result: Result) -> None:
    """Write the block's tile; neighbouring threads write neighbouring elements."""
    packed = packed_elements(result.memref, _WIDEST)
    per_row = tiling.n // packed
    with control.loop(thread, tiling.m * per_row, tiling.threads) as body:
        row = divide_unsigned(body.index, per_row)
        column = multiply(remainder_unsigned(body.index, per_row), packed)
        position = add(multiply(row, tiling.result_stride), column)
        rows, columns = result.sizes
        inside = []
        if rows % tiling.m:
            inside.append(compare("ult", add(result.row, row), rows))
        if columns % tiling.n:
            inside.append(compare("ult", add(result.column, column), columns))
        with branch(all_of(inside)):
            accumulators = _accumulators(advanced(shared, as_i32(multiply(position, 4))), packed)
            at = (*result.batch, add(result.row, row), add(result.column, column))
            _store(result.memref, at, _elements(result, at, accumulators))


def packed_elements(memref: Value, nbytes: int) -> int:
    """The elements, of `nbytes` at most, that are contiguous and aligned at every multiple of their
    number in the last dimension."""
    type = MemRefType(memref.type)
    strides, offset = type.get_strides_and_offset()
    packed: int = nbytes // (FloatType(type.element_type).width // 8)
    if strides[-1] != 1:
        return 1
    numbers = [offset, type.shape[-1], *strides[:-1]]
    while any(number % packed for number in numbers):
        packed //= 2
    return packed


def _accumulators(address: Value, count: int) -> list[Value]:
    each = min(count, _WIDEST // _ACCUMULATOR_BYTES)
    type = VectorType.get([each], F32Type.get())
    return [
        element
        for first in range(0, count, each)
        for element in _parts(
            llvm.load(
                type,
                advanced(address, first * _ACCUMULATOR_BYTES),
                alignment=each * _ACCUMULATOR_BYTES,
            ),
            each,
        )
    ]


def _parts(whole: Value, count: int) -> list[Value]:
    return [vector.extract(whole, [], [n]) for n in range(count)]


def _elements(result: Result, at: Sequence[Number], accumulators: list[Value]) -> list[Value]:
    """Contiguous elements of the result; `at` is the position of the first."""
    if result.epilogue is None:
        return accumulators
    nest, number = result.epilogue
    at_loop = dict(zip(nest.out, at, strict=True))
    operands = [
        accumulators if operand == number else _read(nest, operand, at_loop, len(accumulators))
        for operand in range(nest.destination)
    ]
    return [_computed(nest, row) for row in zip(*operands, strict=True)]


def _computed(nest: Structured, row: Sequence[Value]) -> Value:
    """One element of the result, from an element of each operand."""
    values: dict[Value, Value] = dict(zip(nest.body.arguments, row, strict=False))
    *ops, end = body_operations(nest.op)
    for op in ops:
        copy = op.clone().operation
        for position, value in enumerate(copy.operands):
            copy.operands[position] = values.get(value, value)
        values.update(zip(op.results, copy.results, strict=True))
    return values.get(end.operands[0], end.operands[0])


def _read(nest: Structured, operand: int, at_loop: Mapping[int, Number], count: int) -> list[Value]:
    """The elements of an operand beside `count` neighbours of the result."""
    value, row = nest.op.operands[operand], nest.indices[operand]
    if not row and not isinstance(value.type, MemRefType):
        return [value] * count
    element = MemRefType(value.type).element_type
    column = nest.out[-1]
    if not any(index.factor(column) for index in row):
        return [_load(value, row, at_loop)] * count
    if _is_packed(nest, operand, count):
        indices = [_index(index, at_loop) for index in row]
        nbytes = min(_WIDEST, count * FloatType(element).width // 8)
        type = VectorType.get([count], element)
        return _parts(vector.load(type, value, indices, alignment=nbytes), count)
    return [_load(value, row, {**at_loop, column: add(at_loop[column], n)}) for n in range(count)]


def _is_packed(nest: Structured, operand: int, count: int) -> bool:
    """Whether the elements beside `count` neighbours of the result are contiguous and aligned."""
    value, row, column = nest.op.operands[operand], nest.indices[operand], nest.out[-1]
    element = MemRefType(value.type).element_type
    if count == 1 or not isinstance(element, FloatType) or row[-1].loop != column:
        return False
    alone = not any(index.factor(column) for index in row[:-1])
    return alone and packed_elements(value, count * element.width // 8) == count


def _load(buffer: Value, row: Sequence[Index], at_loop: Mapping[int, Number]) -> Value:
    return memref.load(buffer, [_index(index, at_loop) for index in row])


def _index(index: Index, at_loop: Mapping[int, Number]) -> Value:
    total: Number = index.offset
    for loop, factor in index.factors:
        total = add(total, multiply(at_loop[loop], factor))
    return _as_index(total)


def _as_index(number: Number) -> Value:
    return arith.index_castui(IndexType.get(), as_i32(number))


def _store(buffer: Value, at: Sequence[Number], elements: list[Value]) -> None:
    indices = [_as_index(number) for number in at]
    if len(elements) == 1:
        memref.store(elements[0], buffer, indices)
        return
    type = FloatType(elements[0].type)
    whole = vector.from_elements(VectorType.get([len(elements)], type), elements)
    vector.store(whole, buffer, indices, alignment=len(elements) * type.width // 8)
