# SPDX-License-Identifier: Apache-2.0
"""Widens the rows of x to 16 bits once, for all columns that read them.

A word of four bytes becomes two words of halves: of bytes 0 and 2, and of bytes 1 and 3. The rows
of a tile are interleaved word by word. The remainder of K is stored in 32 bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import Structured
from xtc.ir.builders import numbers
from xtc.ir.builders.control import loop
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import Attribute, MemRefType, Operation, Value, arith, memref
from xtc_targets.embedded.passes import KEPT
from xtc_targets.embedded.passes._dual_loops import DualLoop
from xtc_targets.embedded.passes._kernels import WORD, Sum, TileShape, Walk, integer, replaced
from xtc_targets.embedded.passes._scalar_kernels import (
    halves,
    load_byte,
    load_word,
)

_UNROLL = 4  # most words per iteration
_WRITTEN_OUT = 64  # most bytes of K that are widened one by one, if runs are not whole words
_FEW = 4  # columns, with which widening gains nothing
_REST = 0.35  # the cost of a narrower last tile in addition to its sums, for its code


@dataclass(frozen=True)
class Runs:
    """The bytes of a row of x: contiguous runs, and the loops between the runs."""

    walks: tuple[Walk, ...]
    length: int

    @property
    def count(self) -> int:
        return math.prod(walk.extent for walk in self.walks)

    @property
    def size(self) -> int:
        return self.count * self.length

    def fit(self, columns: int) -> bool:
        """Whether widening them pays for this number of columns."""
        is_short = self.length % WORD == 0 or self.size <= _WRITTEN_OUT
        return columns >= _FEW and self.size >= WORD and is_short

    def offsets(self) -> list[int]:
        """The offset of each byte."""
        starts = [
            sum(at * walk.x_step for at, walk in zip(index, self.walks, strict=True))
            for index in itertools.product(*(range(walk.extent) for walk in self.walks))
        ]
        return [start + byte for start in starts for byte in range(self.length)]


def chosen_rows(nest: Structured, loops: Sequence[int], most: int) -> tuple[int | None, int]:
    """The loop over the rows of a tile, and the number of rows, for the fewest tiles."""

    def cost(choice: tuple[int, int]) -> tuple[float, int]:
        loop, rows = choice
        whole, rest = divmod(nest.extents[loop], rows)
        tiles = whole + (1 + _REST * (whole + 1) if rest else 0)
        return tiles / nest.extents[loop], rows

    choices = [(loop, rows) for loop in loops for rows in range(1, most + 1)
               if rows <= nest.extents[loop]]  # fmt: skip
    return min(choices, key=cost, default=(None, 1))


def columns_beside(rows: int) -> int:
    """Columns of a tile with `rows` rows, so that sums and operands fit into 13 registers."""
    return {1: 4, 2: 2, 3: 2}.get(rows, 1)


@dataclass(frozen=True)
class WideRows:
    """A buffer for the rows of a tile.

    Attributes:
        buffer: the 32-bit words.
        runs: the bytes of a row.
        step: distance between rows in bytes.
    """

    buffer: Value
    runs: Runs
    step: int

    @staticmethod
    def allocated(rows: int, runs: Runs, step: int) -> WideRows:
        words, left = divmod(runs.size, WORD)
        type = MemRefType.get([rows * (2 * words + left)], integer(32))
        return WideRows(memref.alloc(type, [], []), runs, step)

    def fill(self, x: Value, x_at: Number, rows: int) -> None:
        """Widen rows of x from an offset on."""

        def row(number: Number) -> None:
            at = numbers.add(x_at, numbers.multiply(number, self.step))
            if self.runs.length % WORD:
                self._fill_bytes(x, at, number, rows)
            else:
                self._fill_words(self.runs.walks, x, at, number, rows, 0)

        _repeated(rows, 1, row)

    def _fill_words(
        self,
        walks: tuple[Walk, ...],
        x: Value,
        x_at: Number,
        row: Number,
        rows: int,
        block: Number,
    ) -> None:
        if walks:
            walk, *rest = walks

            def inside(index: Number) -> None:
                at = numbers.add(x_at, numbers.multiply(index, walk.x_step))
                inner = numbers.add(numbers.multiply(block, walk.extent), index)
                self._fill_words(tuple(rest), x, at, row, rows, inner)

            _repeated(walk.extent, 1, inside)
            return
        count = self.runs.length // WORD
        step = _step(count)
        first = numbers.multiply(block, count)

        def words(index: Number) -> None:
            for number in range(step):
                at = numbers.add(index, number)
                word = load_word(x, numbers.add(x_at, numbers.multiply(at, WORD)), aligned=False)
                self._store(halves(word), numbers.add(first, at), row, rows)

        _repeated(count, step, words)

    def _fill_bytes(self, x: Value, x_at: Number, row: Number, rows: int) -> None:
        """Widen fully unrolled, in words if four elements of K are contiguous in memory."""
        offsets = self.runs.offsets()
        whole = len(offsets) // WORD
        for number in range(whole):
            four = offsets[number * WORD : (number + 1) * WORD]
            if four[-1] - four[0] == WORD - 1:
                word = load_word(x, numbers.add(x_at, four[0]), aligned=False)
                pair = halves(word)
            else:
                read = [load_byte(x, numbers.add(x_at, offset)) for offset in four]
                pair = _packed(read[0], read[2]), _packed(read[1], read[3])
            self._store(pair, number, row, rows)
        for position, offset in enumerate(offsets[whole * WORD :]):
            at = numbers.add(2 * whole * rows + position * rows, row)
            memref.store(load_byte(x, numbers.add(x_at, offset)), self.buffer, [_value(at)])

    def _store(self, pair: tuple[Value, Value], word: Number, row: Number, rows: int) -> None:
        at = numbers.multiply(numbers.add(numbers.multiply(word, rows), row), 2)
        for position, value in enumerate(pair):
            memref.store(value, self.buffer, [_value(numbers.add(at, position))])

    def tile(
        self, words: Value | None, rest: Value | None, shape: TileShape, rows: int
    ) -> Callable[[Number, Value], list[Sum]]:
        """The emitter of a tile of sums from the widened rows, by the number of the tile."""
        return _WideTile(self.buffer, words, rest, shape, rows).sums


def _address(memory: Value, offset: Number) -> Value:
    """The address of an element by its offset in bytes."""
    first = memref.extract_aligned_pointer_as_index(memory)
    return arith.index_cast(integer(32), _value(numbers.add(first, offset)))


def _value(number: Number) -> Value:
    return numbers.as_value(number)


def _packed(low: Value, high: Value) -> Value:
    """Pack two 16-bit numbers into a word: PKHBT."""
    i32 = integer(32)
    mask = numbers.constant((1 << 16) - 1, i32)
    shifted = arith.shli(high, numbers.constant(16, i32))
    return arith.ori(arith.andi(low, mask), shifted)


def _step(words: int) -> int:
    """Words per iteration: all if there are few; LLVM generates poor addresses for two."""
    if words <= _UNROLL:
        return words
    return next(n for n in range(_UNROLL, 0, -1) if words % n == 0 and words != 2 * n)


def _repeated(count: int, step: int, body: Callable[[Number], None]) -> None:
    """A loop; only the body if it has one iteration."""
    if count <= step:
        body(0)
        return

    with loop(0, count, step) as result:
        body(result.index)
    _forbid_unrolling(result.op)


def _forbid_unrolling(result: Operation) -> None:
    """Forbid LLVM to unroll a loop further, which would cost flash."""
    text = "#llvm.loop_annotation<unroll = <disable = true>>"
    result.attributes[KEPT] = Attribute.parse(text)


@dataclass(frozen=True)
class _WideTile:
    """Emits a tile of sums from widened rows."""

    buffer: Value
    words: Value | None
    rest: Value | None
    shape: TileShape
    rows: int

    def sums(self, tile: Number, start: Value) -> list[Sum]:
        width, shape = self.shape.width, self.shape
        totals = [start] * (self.rows * width)
        if self.words is not None:
            first = numbers.multiply(tile, shape.whole * width)
            addresses = _address(self.buffer, 0), _address(self.words, first)
            totals = DualLoop(self.rows, width, shape.words).sums(*addresses, totals)
        if shape.left:
            totals = self._left(numbers.multiply(tile, shape.left * width), totals)
        return [Sum(*divmod(position, width), total) for position, total in enumerate(totals)]

    def _left(self, first: Number, sums: list[Value]) -> list[Value]:
        assert self.rest is not None  # noqa: S101  there are bytes to read
        begin, width = 2 * self.shape.words * self.rows, self.shape.width
        for position, column in itertools.product(range(self.shape.left), range(width)):
            at = numbers.add(first, column * self.shape.left + position)
            factor = load_byte(self.rest, at)
            for row in range(self.rows):
                x = self._load(begin + position * self.rows + row)
                total = arith.addi(sums[row * width + column], arith.muli(x, factor))
                sums = replaced(sums, row * width + column, total)
        return sums

    def _load(self, at: Number) -> Value:
        return memref.load(self.buffer, [_value(at)])
