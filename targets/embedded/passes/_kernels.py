# SPDX-License-Identifier: Apache-2.0
"""What writes the sums of a tile of an int8 contraction, by the instructions of a core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from xtc.ir.builders import numbers
from xtc.ir.builders.control import for_each
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import InsertionPoint, IntegerType, Value

WORD = 4
"""Bytes that a register of 32 bits holds, and that two dual multiply-adds sum."""
_SHORT = 4  # iterations of a loop that is written out


@dataclass(frozen=True)
class Walk:
    """A loop of the reduction that is not along neighbouring bytes of x.

    Attributes:
        extent: its iterations.
        x_step, w_step: bytes between two of them, the second where weights keep their order.
    """

    extent: int
    x_step: int
    w_step: int = 0


@dataclass(frozen=True)
class TileShape:
    """The columns of a tile, and its reduction along neighbouring bytes of x.

    Attributes:
        width: columns.
        length: iterations of the reduction.
        word: bytes along it that an instruction takes at once; 0 where that is one.
    """

    width: int
    length: int
    word: int

    @property
    def words(self) -> int:
        """Whole words."""
        return self.length // self.word if self.word else 0

    @property
    def whole(self) -> int:
        """Bytes in whole words."""
        return self.words * self.word

    @property
    def left(self) -> int:
        """Bytes behind them."""
        return self.length - self.whole


@dataclass(frozen=True)
class Sum:
    """A sum, or a vector of sums of neighbouring columns, from this one on."""

    row: int
    column: int
    value: Value


Memory = tuple[Value, Value | None, Value | None]
"""x, weights in words, weights behind them; as one dimension of bytes, None where there are none.

For each iteration of the outer reduction loops, the second has blocks [words][columns][word], the
third [columns][left], or [left][columns] for kernels in lanes.
"""
TileSums = Callable[[Number, Number, Value], list[Sum]]
"""Writes the sums of a tile: from x at an offset, the weights of a tile by its number, a start."""
ChannelSums = Callable[[Number, Number, int, Value], list[Sum]]
"""Writes the sums of neighbouring channels: from x and weights at offsets, how many, a start."""


class Kernels(Protocol):
    """The kernels of a kind of core.

    Attributes:
        rows, columns: of a tile at most.
        neighbours: channels that are summed at once where each has separate weights.
        in_lanes: whether a vector has the sums of neighbouring columns.
        wide: rows of a tile at most, where rows are widened once for many columns; 0 for never.
    """

    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def neighbours(self) -> int: ...
    @property
    def in_lanes(self) -> bool: ...
    @property
    def wide(self) -> int: ...

    def word(self, width: int) -> int:
        """Bytes along the reduction that an instruction takes, in a tile of so many columns."""

    def tile(
        self, memory: Memory, shape: TileShape, rows: int, row_step: int, walks: tuple[Walk, ...]
    ) -> TileSums:
        """Tiles of rows that are `row_step` bytes apart."""

    def channels(self, x: Value, w: Value, walks: tuple[Walk, ...]) -> ChannelSums:
        """Neighbouring channels."""


def integer(bits: int) -> IntegerType:
    """A signless integer type."""
    return IntegerType.get_signless(bits)


def replaced(sums: Sequence[Value], position: int, total: Value) -> list[Value]:
    """A list with another element."""
    return [*sums[:position], total, *sums[position + 1 :]]


def carried(
    count: int, step: int, sums: list[Value], body: Callable[[Number, list[Value]], list[Value]]
) -> list[Value]:
    """A loop that carries sums; the body alone where it has one iteration."""
    if count <= step:
        return body(0, sums)

    def inside(index: Value, held: list[Value], ip: InsertionPoint) -> list[Value]:
        with ip:
            return body(index, held)

    return for_each(0, count, step, sums, inside)


def walked(
    walks: tuple[Walk, ...],
    x_at: Number,
    w_at: Number,
    sums: list[Value],
    step: Callable[[Number, Number, list[Value]], list[Value]],
) -> list[Value]:
    """Loops over all walks around a step, which gets the offsets of x and of the weights.

    The innermost one is written out where it is short.
    """
    if not walks:
        return step(x_at, w_at, sums)
    walk, *rest = walks

    def body(index: Number, held: list[Value]) -> list[Value]:
        x_next = numbers.add(x_at, numbers.multiply(index, walk.x_step))
        w_next = numbers.add(w_at, numbers.multiply(index, walk.w_step))
        return walked(tuple(rest), x_next, w_next, held, step)

    if not rest and walk.extent <= _SHORT:
        for position in range(walk.extent):
            sums = body(position, sums)
        return sums
    return carried(walk.extent, 1, sums, body)
