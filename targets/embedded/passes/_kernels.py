# SPDX-License-Identifier: Apache-2.0
"""The interface of kernels that compute a tile of an int8 contraction on a kind of core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from xtc.ir.builders import numbers
from xtc.ir.builders.control import for_each
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import InsertionPoint, IntegerType, Value

WORD = 4
"""Bytes of a 32-bit register, which two dual multiply-adds process."""
_SHORT = 4  # most iterations of a loop that is fully unrolled


@dataclass(frozen=True)
class Walk:
    """A reduction loop that is not contiguous in x.

    Attributes:
        extent: number of iterations.
        x_step, w_step: bytes between iterations; `w_step` is for weights in their original order.
    """

    extent: int
    x_step: int
    w_step: int = 0


@dataclass(frozen=True)
class TileShape:
    """The columns of a tile, and its contiguous reduction in x.

    Attributes:
        width: number of columns.
        length: extent of the reduction.
        word: bytes along it that an instruction processes together; 0 for single bytes.
    """

    width: int
    length: int
    word: int

    @property
    def words(self) -> int:
        """Number of whole words."""
        return self.length // self.word if self.word else 0

    @property
    def whole(self) -> int:
        """Bytes in whole words."""
        return self.words * self.word

    @property
    def left(self) -> int:
        """Bytes after the whole words."""
        return self.length - self.whole


@dataclass(frozen=True)
class Sum:
    """A sum, or a vector of sums of consecutive columns from `column` on."""

    row: int
    column: int
    value: Value


Memory = tuple[Value, Value | None, Value | None]
"""x, the weights in whole words, and the weights after them, as flat bytes; None if empty.

For each iteration of the outer reduction loops, the second has blocks [words][columns][word], the
third [columns][left], or [left][columns] for kernels in lanes.
"""
TileSums = Callable[[Number, Number, Value], list[Sum]]
"""Emits the sums of a tile, from an offset in x, the number of the tile, and a start value."""
ChannelSums = Callable[[Number, Number, int, Value], list[Sum]]
"""Emits the sums of consecutive channels, from offsets, their number, and a start value."""


class Kernels(Protocol):
    """The kernels of a kind of core.

    Attributes:
        rows, columns: largest size of a tile.
        neighbors: channels that are computed together in depthwise contractions.
        in_lanes: whether a vector has the sums of consecutive columns.
        wide: most rows of a tile whose rows are widened once for many columns; 0 for never.
    """

    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def neighbors(self) -> int: ...
    @property
    def in_lanes(self) -> bool: ...
    @property
    def wide(self) -> int: ...

    def word(self, width: int) -> int:
        """Bytes along the reduction that an instruction processes, in a tile of `width` columns."""

    def tile(
        self, memory: Memory, shape: TileShape, rows: int, row_step: int, walks: tuple[Walk, ...]
    ) -> TileSums:
        """The emitter of tiles whose rows are `row_step` bytes apart."""

    def channels(self, x: Value, w: Value, walks: tuple[Walk, ...]) -> ChannelSums:
        """The emitter of consecutive channels."""


def integer(bits: int) -> IntegerType:
    """A signless integer type."""
    return IntegerType.get_signless(bits)


def replaced(sums: Sequence[Value], position: int, total: Value) -> list[Value]:
    """A copy of a list with one element replaced."""
    return [*sums[:position], total, *sums[position + 1 :]]


def carried(
    count: int, step: int, sums: list[Value], body: Callable[[Number, list[Value]], list[Value]]
) -> list[Value]:
    """A loop that carries sums; only the body if it has one iteration."""
    if count <= step:
        return body(0, sums)

    def inside(index: Value, held: list[Value], ip: InsertionPoint) -> list[Value]:
        with ip:
            return body(index, held)

    return for_each(0, count, step, sums, inside)


Step = Callable[[Number, Number, list[Value]], list[Value]]
"""Adds to sums, from an offset in x and an offset, or a number, in the weights."""


def walked_in_blocks(
    walks: tuple[Walk, ...], x_at: Number, block: Number, sums: list[Value], step: Step
) -> list[Value]:
    """Loops over all walks around a step, which receives the number of a block of weights.

    Each iteration of the walks has the next block.
    """
    if not walks:
        return step(x_at, block, sums)
    walk, *rest = walks

    def body(index: Number, held: list[Value]) -> list[Value]:
        x_next = numbers.add(x_at, numbers.multiply(index, walk.x_step))
        next_block = numbers.add(numbers.multiply(block, walk.extent), index)
        return walked_in_blocks(tuple(rest), x_next, next_block, held, step)

    return carried(walk.extent, 1, sums, body)


def walked(
    walks: tuple[Walk, ...], x_at: Number, w_at: Number, sums: list[Value], step: Step
) -> list[Value]:
    """Loops over all walks around a step, which receives the offsets in x and in the weights.

    A short innermost loop is fully unrolled.
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
