# SPDX-License-Identifier: Apache-2.0
"""Int8 kernels in lanes: a vector has the sums of four consecutive columns.

On AArch64, one instruction multiplies an element of x with the 16-bit weights of all columns and
adds to 32-bit sums (SMLAL by element). With `dots`, it reduces four elements of x with four weights
of each column (SDOT).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders import numbers
from xtc.ir.builders.numbers import Number
from xtc.ir.builders.vector_pieces import broadcast
from xtc.ir.mlir import IntegerAttr, Value, VectorType, arith, memref, vector
from xtc.ir.mlir_llvm import llvm
from xtc_targets.embedded.passes._kernels import (
    ChannelSums,
    Memory,
    Sum,
    TileShape,
    TileSums,
    Walk,
    carried,
    integer,
    replaced,
    walked,
    walked_in_blocks,
)

LANES = 4
"""Number of sums in a register."""
DOT = 4
"""Number of products that an instruction sums in each lane."""
_GROUP = 8  # bytes of x that are read together
_UNROLL = 4  # most words per iteration


def _vector(lanes: int, bits: int) -> VectorType:
    return VectorType.get([lanes], integer(bits))


def _load(memory: Value, offset: Number, count: int, *, aligned: bool = False) -> Value:
    """Load contiguous bytes."""
    align = IntegerAttr.get(integer(64), DOT) if aligned else None
    return vector.load(_vector(count, 8), memory, [numbers.as_value(offset)], alignment=align)


def _wide(bytes_: Value) -> Value:
    """Bytes extended to 16 bits."""
    (count,) = VectorType(bytes_.type).shape
    return arith.extsi(_vector(count, 16), bytes_)


def _parts(width: int) -> list[tuple[int, int]]:
    """The first column and the lanes of each vector of a tile."""
    lanes = LANES if width % LANES == 0 else width
    return [(first, lanes) for first in range(0, width, lanes)]


def _part(value: Value, first: int, lanes: int) -> Value:
    """Consecutive lanes of a vector; a single lane as a scalar."""
    if lanes == 1:
        return vector.extract(value, [], [first])
    if VectorType(value.type).shape == [lanes]:
        return value
    type = VectorType.get([lanes], VectorType(value.type).element_type)
    return vector.extract_strided_slice(type, value, [first], [lanes], [1])


def _accumulated(total: Value, x: Value, w: Value) -> Value:
    """Add the products of 16-bit numbers to sums.

    It uses an intrinsic, because LLVM would see that these were bytes and multiply in 16 bits,
    which costs more.
    """
    type = total.type
    if type == _vector(LANES, 32):
        product = llvm.call_intrinsic(type, "llvm.aarch64.neon.smull.v4i32", [x, w], [], [])
        return arith.addi(total, product)
    return arith.addi(total, arith.muli(arith.extsi(type, x), arith.extsi(type, w)))


@dataclass(frozen=True)
class LaneKernels:
    """Kernels with sums in lanes of vectors.

    Attributes:
        rows, columns: size of a tile.
        dots: whether the core has dot products (SDOT).
    """

    rows: int
    columns: int
    dots: bool
    in_lanes: ClassVar[bool] = True
    wide: ClassVar[int] = 0

    @property
    def neighbors(self) -> int:
        return 2 * LANES

    def word(self, width: int) -> int:
        return DOT if self.dots and width % LANES == 0 else 0

    def tile(
        self, memory: Memory, shape: TileShape, rows: int, row_step: int, walks: tuple[Walk, ...]
    ) -> TileSums:
        return _Tile(memory, shape, rows, row_step, walks).sums

    def channels(self, x: Value, w: Value, walks: tuple[Walk, ...]) -> ChannelSums:
        return _Channels(x, w, walks).sums


@dataclass(frozen=True)
class _Tile:
    """Emits a tile of sums: rows of x, which are `row_step` bytes apart, times columns."""

    memory: Memory
    shape: TileShape
    rows: int
    row_step: int
    walks: tuple[Walk, ...]

    @property
    def _parts(self) -> list[tuple[int, int]]:
        return _parts(self.shape.width)

    def sums(self, x_at: Number, tile: Number, start: Value) -> list[Sum]:
        initial = [broadcast(start, lanes) for _, lanes in self._parts] * self.rows
        totals = walked_in_blocks(self.walks, x_at, tile, initial, self._along)
        indices = [(row, first) for row in range(self.rows) for first, _ in self._parts]
        return [Sum(*position, total) for position, total in zip(indices, totals, strict=True)]

    def _along(self, x_at: Number, block: Number, sums: list[Value]) -> list[Value]:
        return self._remainder(x_at, block, self._in_words(x_at, block, sums))

    def _in_words(self, x_at: Number, block: Number, sums: list[Value]) -> list[Value]:
        """Reduce contiguous bytes, four at a time."""
        shape, memory = self.shape, self.memory[1]
        if memory is None:
            return sums
        w_at = numbers.multiply(block, shape.whole * shape.width)
        step = next(n for n in range(_UNROLL, 0, -1) if shape.words % n == 0)

        def body(index: Number, held: list[Value]) -> list[Value]:
            for number in range(step):
                word = numbers.multiply(numbers.add(index, number), DOT)
                w_next = numbers.add(w_at, numbers.multiply(word, shape.width))
                held = self._dots(memory, numbers.add(x_at, word), w_next, held)
            return held

        return carried(shape.words, step, sums, body)

    def _dots(self, memory: Value, x_at: Number, w_at: Number, sums: list[Value]) -> list[Value]:
        """Add four products per row and column."""
        all_bytes = LANES * DOT
        rows = [self._word(numbers.add(x_at, row * self.row_step)) for row in range(self.rows)]
        for number, (first, _) in enumerate(self._parts):
            w = _load(memory, numbers.add(w_at, first * DOT), all_bytes, aligned=True)
            for row, x in enumerate(rows):
                position = row * len(self._parts) + number
                total = llvm.call_intrinsic(
                    sums[position].type,
                    "llvm.aarch64.neon.sdot.v4i32.v16i8",
                    [sums[position], w, x],
                    [],
                    [],
                )
                sums = replaced(sums, position, total)
        return sums

    def _word(self, at: Number) -> Value:
        """Four bytes of x, broadcast to every lane."""
        word = vector.bitcast(_vector(1, 32), _load(self.memory[0], at, DOT))
        lanes = broadcast(vector.extract(word, [], [0]), LANES)
        return vector.bitcast(_vector(LANES * DOT, 8), lanes)

    def _remainder(self, x_at: Number, block: Number, sums: list[Value]) -> list[Value]:
        """Reduce the bytes after whole words: groups that are read together, then single bytes."""
        shape, memory = self.shape, self.memory[2]
        if memory is None:
            return sums
        x_rest = numbers.add(x_at, shape.whole)
        w_rest = numbers.multiply(block, shape.left * shape.width)

        def group(index: Number, held: list[Value]) -> list[Value]:
            x_next = numbers.add(x_rest, index)
            rows = [self._group(numbers.add(x_next, row * self.row_step)) for row in self._rows]
            for number in range(_GROUP):
                at = numbers.add(w_rest, numbers.multiply(numbers.add(index, number), shape.width))
                xs = [vector.extract(row, [], [number]) for row in rows]
                held = self._products(memory, xs, at, held)
            return held

        def single(index: Number, held: list[Value]) -> list[Value]:
            x_next = numbers.add(x_rest, index)
            xs = [self._single(numbers.add(x_next, row * self.row_step)) for row in self._rows]
            at = numbers.add(w_rest, numbers.multiply(index, shape.width))
            return self._products(memory, xs, at, held)

        whole = shape.left - shape.left % _GROUP
        if whole:
            sums = carried(whole, _GROUP, sums, group)
        if shape.left % _GROUP >= LANES:
            return carried(
                shape.left % _GROUP, 1, sums, lambda at, held: single(numbers.add(at, whole), held)
            )
        for position in range(whole, shape.left):
            sums = single(position, sums)
        return sums

    @property
    def _rows(self) -> range:
        return range(self.rows)

    def _group(self, at: Number) -> Value:
        return _wide(_load(self.memory[0], at, _GROUP))

    def _single(self, at: Number) -> Value:
        return arith.extsi(integer(16), memref.load(self.memory[0], [numbers.as_value(at)]))

    def _products(
        self, memory: Value, xs: Sequence[Value], w_at: Number, sums: list[Value]
    ) -> list[Value]:
        """Add one product per row and column."""
        w = _wide(_load(memory, w_at, self.shape.width))
        for number, (first, lanes) in enumerate(self._parts):
            factors = _part(w, first, lanes)
            for row, x in enumerate(xs):
                position = row * len(self._parts) + number
                total = _accumulated(sums[position], broadcast(x, lanes), factors)
                sums = replaced(sums, position, total)
        return sums


@dataclass(frozen=True)
class _Channels:
    """Emits the sums of consecutive channels, each with separate weights."""

    x: Value
    w: Value
    walks: tuple[Walk, ...]

    def sums(self, x_at: Number, w_at: Number, count: int, start: Value) -> list[Sum]:
        parts = _parts(count)
        initial = [broadcast(start, lanes) for _, lanes in parts]

        def step(x_next: Number, w_next: Number, held: list[Value]) -> list[Value]:
            x, w = _wide(_load(self.x, x_next, count)), _wide(_load(self.w, w_next, count))
            return [
                _accumulated(total, _part(x, *part), _part(w, *part))
                for total, part in zip(held, parts, strict=True)
            ]

        totals = walked(self.walks, x_at, w_at, initial, step)
        return [Sum(0, first, total) for (first, _), total in zip(parts, totals, strict=True)]
