# SPDX-License-Identifier: Apache-2.0
"""Int8 kernels in scalar registers, with single or dual multiplies.

`x` and `w` are read at linear offsets. The reduction over K is contiguous in `x`; `w` is stored in
the order in which a tile reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders import numbers
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import IntegerAttr, Value, VectorType, arith, memref, vector
from xtc.ir.mlir_llvm import llvm
from xtc_targets.embedded.passes._kernels import (
    WORD,
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

_UNROLL = 4  # most words per iteration


def load_byte(memory: Value, offset: Number) -> Value:
    """Load a byte as an i32."""
    return arith.extsi(integer(32), memref.load(memory, [numbers.as_value(offset)]))


def load_word(memory: Value, offset: Number, *, aligned: bool) -> Value:
    """Load four bytes as an i32."""
    type = VectorType.get([WORD], integer(8))
    align = IntegerAttr.get(integer(64), WORD) if aligned else None
    found = vector.load(type, memory, [numbers.as_value(offset)], alignment=align)
    words = vector.bitcast(VectorType.get([1], integer(32)), found)
    return vector.extract(words, [], [0])


def halves(word: Value) -> tuple[Value, Value]:
    """Bytes 0 and 2, and bytes 1 and 3, each extended to two 16-bit numbers: SXTB16."""
    i32 = integer(32)
    turned = arith.ori(
        arith.shrui(word, numbers.constant(8, i32)), arith.shli(word, numbers.constant(24, i32))
    )
    return _call("sxtb16", [word]), _call("sxtb16", [turned])


def multiply_add(x: Value, w: Value, total: Value) -> Value:
    """Two products of 16-bit numbers, added to a sum: SMLAD."""
    return _call("smlad", [x, w, total])


def _call(name: str, operands: Sequence[Value]) -> Value:
    return llvm.call_intrinsic(integer(32), f"llvm.arm.{name}", list(operands), [], [])


@dataclass(frozen=True)
class ScalarKernels:
    """Kernels with sums in 32-bit registers.

    Attributes:
        rows, columns: size of a tile.
        dual: whether words of four bytes are split into halves for dual multiply-adds (SXTB16,
            SMLAD).
        wide: most rows of a tile whose rows are widened once for many columns; 0 for never.
    """

    rows: int
    columns: int
    dual: bool
    wide: int = 0
    in_lanes: ClassVar[bool] = False

    @property
    def neighbors(self) -> int:
        return WORD if self.dual else 1

    def word(self, width: int) -> int:
        return WORD if self.dual else 0

    def tile(
        self, memory: Memory, shape: TileShape, rows: int, row_step: int, walks: tuple[Walk, ...]
    ) -> TileSums:
        return _Tile(memory, shape, rows, row_step, walks).sums

    def channels(self, x: Value, w: Value, walks: tuple[Walk, ...]) -> ChannelSums:
        return _Channels(x, w, walks, self.dual).sums


@dataclass(frozen=True)
class _Tile:
    """Emits a tile of sums: rows of x, which are `row_step` bytes apart, times columns."""

    memory: Memory
    shape: TileShape
    rows: int
    row_step: int
    walks: tuple[Walk, ...]

    @property
    def _x(self) -> Value:
        return self.memory[0]

    def sums(self, x_at: Number, tile: Number, start: Value) -> list[Sum]:
        width = self.shape.width
        initial = [start] * (self.rows * width)
        totals = walked_in_blocks(self.walks, x_at, tile, initial, self._along)
        return [Sum(*divmod(position, width), total) for position, total in enumerate(totals)]

    def _along(self, x_at: Number, block: Number, sums: list[Value]) -> list[Value]:
        """Reduce contiguous bytes: whole words first, then single bytes."""
        w_at = numbers.multiply(block, self.shape.whole * self.shape.width)
        step = next(n for n in range(_UNROLL, 0, -1) if self.shape.words % n == 0)

        def body(index: Number, held: list[Value]) -> list[Value]:
            x_next = numbers.add(x_at, numbers.multiply(index, WORD))
            w_next = numbers.add(w_at, numbers.multiply(index, WORD * self.shape.width))
            return self._words(x_next, w_next, step, held)

        if self.memory[1] is not None:
            sums = carried(self.shape.words, step, sums, body)
        return self._remainder(x_at, block, sums) if self.shape.left else sums

    def _remainder(self, x_at: Number, block: Number, sums: list[Value]) -> list[Value]:
        """Reduce the bytes after whole words."""
        x_rest = numbers.add(x_at, self.shape.whole)
        w_rest = numbers.multiply(block, self.shape.left * self.shape.width)

        def body(index: Number, held: list[Value]) -> list[Value]:
            return self._bytes(numbers.add(x_rest, index), numbers.add(w_rest, index), held)

        if self.shape.left >= WORD:
            return carried(self.shape.left, 1, sums, body)
        for position in range(self.shape.left):
            sums = body(position, sums)
        return sums

    def _words(self, x_at: Number, w_at: Number, count: int, sums: list[Value]) -> list[Value]:
        for number in range(count):
            rows = [self._row(x_at, row, number) for row in range(self.rows)]
            for column in range(self.shape.width):
                at = numbers.add(w_at, (number * self.shape.width + column) * WORD)
                even, odd = halves(load_word(_required(self.memory[1]), at, aligned=True))
                for row, (x_even, x_odd) in enumerate(rows):
                    position = row * self.shape.width + column
                    total = multiply_add(x_even, even, sums[position])
                    sums = replaced(sums, position, multiply_add(x_odd, odd, total))
        return sums

    def _row(self, x_at: Number, row: int, number: int) -> tuple[Value, Value]:
        at = numbers.add(x_at, row * self.row_step + number * WORD)
        return halves(load_word(self._x, at, aligned=False))

    def _bytes(self, x_at: Number, w_at: Number, sums: list[Value]) -> list[Value]:
        """Add the product of one element per row and column."""
        rows = [
            load_byte(self._x, numbers.add(x_at, row * self.row_step)) for row in range(self.rows)
        ]
        for column in range(self.shape.width):
            factor = load_byte(
                _required(self.memory[2]), numbers.add(w_at, column * self.shape.left)
            )
            for row, element in enumerate(rows):
                position = row * self.shape.width + column
                total = arith.addi(sums[position], arith.muli(element, factor))
                sums = replaced(sums, position, total)
        return sums


def _required(memory: Value | None) -> Value:
    assert memory is not None  # noqa: S101  there are elements to read
    return memory


@dataclass(frozen=True)
class _Channels:
    """Emits the sums of consecutive channels with separate weights, four at a time."""

    x: Value
    w: Value
    walks: tuple[Walk, ...]
    dual: bool

    def sums(self, x_at: Number, w_at: Number, count: int, start: Value) -> list[Sum]:
        totals = walked(self.walks, x_at, w_at, [start] * count, self._step)
        return [Sum(0, position, total) for position, total in enumerate(totals)]

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
                    load_byte(self.x, numbers.add(x_at, position)),
                    load_byte(self.w, numbers.add(w_at, position)),
                ),
            )
            for position, total in enumerate(sums)
        ]
