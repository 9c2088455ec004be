# SPDX-License-Identifier: Apache-2.0
"""Sums of products of int8 numbers: a tile of results in registers, by single or dual multiplies.

`x` and `w` are read at linear offsets. A sum over K runs along neighbouring bytes of `x`; `w` was
stored in the order in which a tile reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xtc.ir.builders import numbers
from xtc.ir.builders.control import for_each
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Value,
    VectorType,
    arith,
    memref,
    vector,
)
from xtc.ir.mlir_llvm import llvm

WORD = 4
"""Elements that a register holds, and that two dual multiply-adds sum."""
_UNROLL = 4  # words of an iteration at most


@dataclass(frozen=True)
class Walk:
    """A loop of the reduction that is not along neighbouring bytes."""

    extent: int
    x_step: int


def integer(bits: int) -> IntegerType:
    """A signless integer type."""
    return IntegerType.get_signless(bits)


def load_byte(memory: Value, offset: Number) -> Value:
    """A byte as an i32."""
    return arith.extsi(integer(32), memref.load(memory, [numbers.as_value(offset)]))


def load_word(memory: Value, offset: Number, *, aligned: bool) -> Value:
    """Four bytes as an i32."""
    type = VectorType.get([WORD], integer(8))
    align = IntegerAttr.get(integer(64), WORD) if aligned else None
    found = vector.load(type, memory, [numbers.as_value(offset)], alignment=align)
    words = vector.bitcast(VectorType.get([1], integer(32)), found)
    return vector.extract(words, [], [0])


def halves(word: Value) -> tuple[Value, Value]:
    """Bytes 0 and 2, and bytes 1 and 3, each as two numbers of 16 bits: SXTB16."""
    i32 = integer(32)
    turned = arith.ori(
        arith.shrui(word, numbers.constant(8, i32)), arith.shli(word, numbers.constant(24, i32))
    )
    return _call("sxtb16", [word]), _call("sxtb16", [turned])


def _call(name: str, operands: Sequence[Value]) -> Value:
    return llvm.call_intrinsic(integer(32), f"llvm.arm.{name}", list(operands), [], [])


@dataclass(frozen=True)
class Tile:
    """A tile of sums: rows of `x`, each `x_step` bytes from the one before, times columns of `w`.

    For each iteration of the outer reduction loops, `words` has blocks [length / 4][columns][4],
    and `rest` blocks [columns][length % 4] of what is left, or of everything without `dual`.

    Attributes:
        x, words, rest: memory as one dimension of bytes; None where nothing is there.
        rows, columns: of the tile.
        x_step: bytes between rows.
        walks: reduction loops outside of that along neighbouring bytes.
        length: iterations of that loop.
        dual: whether two products are summed at once.
    """

    x: Value
    words: Value | None
    rest: Value | None
    rows: int
    columns: int
    x_step: int
    walks: tuple[Walk, ...]
    length: int
    dual: bool

    @property
    def word_count(self) -> int:
        """Words along the inner loop."""
        return self.length // WORD if self.dual else 0

    @property
    def left(self) -> int:
        """Bytes behind them."""
        return self.length - WORD * self.word_count

    def sums(self, x_at: Number, tile: Number, start: Value) -> list[Value]:
        """The sums, row by row, from `start` on; `tile` counts the tiles of `w` before it."""
        initial = [start] * (self.rows * self.columns)
        return self._walk(self.walks, x_at, tile, initial)

    def _walk(
        self, walks: tuple[Walk, ...], x_at: Number, block: Number, sums: list[Value]
    ) -> list[Value]:
        if not walks:
            return self._along(x_at, block, sums)
        walk, *rest = walks

        def body(index: Number, held: list[Value]) -> list[Value]:
            x_next = numbers.add(x_at, numbers.multiply(index, walk.x_step))
            next_block = numbers.add(numbers.multiply(block, walk.extent), index)
            return self._walk(tuple(rest), x_next, next_block, held)

        return _loop(walk.extent, 1, sums, body)

    def _along(self, x_at: Number, block: Number, sums: list[Value]) -> list[Value]:
        """Along neighbouring bytes: whole words first, then single bytes."""
        w_at = numbers.multiply(block, self.word_count * self.columns * WORD)
        step = next(n for n in range(_UNROLL, 0, -1) if self.word_count % n == 0)

        def body(index: Number, held: list[Value]) -> list[Value]:
            x_next = numbers.add(x_at, numbers.multiply(index, WORD))
            w_next = numbers.add(w_at, numbers.multiply(index, WORD * self.columns))
            return self._words(x_next, w_next, step, held)

        if self.words is not None:
            sums = _loop(self.word_count, step, sums, body)
        return self._behind(x_at, block, sums) if self.left else sums

    def _behind(self, x_at: Number, block: Number, sums: list[Value]) -> list[Value]:
        """The bytes that are no whole words."""
        x_rest = numbers.add(x_at, self.word_count * WORD)
        w_rest = numbers.multiply(block, self.left * self.columns)

        def body(index: Number, held: list[Value]) -> list[Value]:
            return self._bytes(numbers.add(x_rest, index), numbers.add(w_rest, index), held)

        if self.left >= WORD:
            return _loop(self.left, 1, sums, body)
        for place in range(self.left):
            sums = body(place, sums)
        return sums

    def _words(self, x_at: Number, w_at: Number, count: int, sums: list[Value]) -> list[Value]:
        for number in range(count):
            rows = [self._row(x_at, row, number) for row in range(self.rows)]
            for column in range(self.columns):
                at = numbers.add(w_at, (number * self.columns + column) * WORD)
                even, odd = halves(load_word(_there(self.words), at, aligned=True))
                for row, (x_even, x_odd) in enumerate(rows):
                    place = row * self.columns + column
                    total = _call("smlad", [x_even, even, sums[place]])
                    sums = _with(sums, place, _call("smlad", [x_odd, odd, total]))
        return sums

    def _row(self, x_at: Number, row: int, number: int) -> tuple[Value, Value]:
        at = numbers.add(x_at, row * self.x_step + number * WORD)
        return halves(load_word(self.x, at, aligned=False))

    def _bytes(self, x_at: Number, w_at: Number, sums: list[Value]) -> list[Value]:
        """One element of each row and column."""
        rows = [load_byte(self.x, numbers.add(x_at, row * self.x_step)) for row in range(self.rows)]
        for column in range(self.columns):
            factor = load_byte(_there(self.rest), numbers.add(w_at, column * self.left))
            for row, element in enumerate(rows):
                place = row * self.columns + column
                total = arith.addi(sums[place], arith.muli(element, factor))
                sums = _with(sums, place, total)
        return sums


def _there(memory: Value | None) -> Value:
    assert memory is not None  # noqa: S101  there are elements to read
    return memory


def _with(sums: Sequence[Value], place: int, total: Value) -> list[Value]:
    return [*sums[:place], total, *sums[place + 1 :]]


def _loop(
    count: int, step: int, sums: list[Value], body: Callable[[Number, list[Value]], list[Value]]
) -> list[Value]:
    """A loop that carries sums; the body alone where it has one iteration."""
    if count <= step:
        return body(0, sums)

    def inside(index: Value, held: list[Value], ip: InsertionPoint) -> list[Value]:
        with ip:
            return body(index, held)

    return for_each(0, count, step, sums, inside)


@dataclass(frozen=True)
class Channels:
    """Sums of neighbouring channels, each with separate weights, four at a time.

    Attributes:
        x, w: memory as one dimension of bytes, with channels next to each other.
        walks: the reduction loops, with the steps of `w` beside.
        w_steps: of each of them.
        dual: whether instructions multiply halves of registers.
    """

    x: Value
    w: Value
    walks: tuple[Walk, ...]
    w_steps: tuple[int, ...]
    dual: bool

    def sums(self, x_at: Number, w_at: Number, count: int, start: Value) -> list[Value]:
        """The sums of `count` channels, `WORD` with dual multiplies."""
        initial = [start] * count
        return self._walk(tuple(zip(self.walks, self.w_steps, strict=True)), x_at, w_at, initial)

    def _walk(
        self, walks: tuple[tuple[Walk, int], ...], x_at: Number, w_at: Number, sums: list[Value]
    ) -> list[Value]:
        if not walks:
            return self._step(x_at, w_at, sums)
        (walk, w_step), *rest = walks
        if not rest and walk.extent <= WORD:
            for place in range(walk.extent):
                x_next = numbers.add(x_at, place * walk.x_step)
                sums = self._step(x_next, numbers.add(w_at, place * w_step), sums)
            return sums

        def body(index: Number, held: list[Value]) -> list[Value]:
            x_next = numbers.add(x_at, numbers.multiply(index, walk.x_step))
            w_next = numbers.add(w_at, numbers.multiply(index, w_step))
            return self._walk(tuple(rest), x_next, w_next, held)

        return _loop(walk.extent, 1, sums, body)

    def _step(self, x_at: Number, w_at: Number, sums: list[Value]) -> list[Value]:
        if self.dual and len(sums) == WORD:
            x_even, x_odd = halves(load_word(self.x, x_at, aligned=False))
            w_even, w_odd = halves(load_word(self.w, w_at, aligned=False))
            return [
                _call("smlabb", [x_even, w_even, sums[0]]),
                _call("smlabb", [x_odd, w_odd, sums[1]]),
                _call("smlatt", [x_even, w_even, sums[2]]),
                _call("smlatt", [x_odd, w_odd, sums[3]]),
            ]
        return [
            arith.addi(
                total,
                arith.muli(
                    load_byte(self.x, numbers.add(x_at, place)),
                    load_byte(self.w, numbers.add(w_at, place)),
                ),
            )
            for place, total in enumerate(sums)
        ]
