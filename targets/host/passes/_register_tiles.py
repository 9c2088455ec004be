# SPDX-License-Identifier: Apache-2.0
"""The processor as default schedules see it, and the register tile that suits it."""

from __future__ import annotations

from dataclasses import dataclass

MAX_ROWS = 14  # of a register tile: more make the code long and are no faster
_LATENCY = 4  # cycles until a fused multiply-add is done, and two begin in each: eight under way
_OVERHEAD = 0.5  # of one step of a register tile, in cycles: what is not hidden behind arithmetic


@dataclass(frozen=True)
class Processor:
    """A core, as far as loops are concerned.

    Attributes:
        vector_bits: width of a vector register.
        registers: how many vector registers there are.
        l1_bytes: first-level data cache of a core.
        l2_bytes: second-level cache of a core.
        parallel: whether several threads may share loops.
        dots: its features with dot-product instructions.
    """

    vector_bits: int
    registers: int
    l1_bytes: int
    l2_bytes: int
    parallel: bool
    dots: tuple[str, ...] = ()

    def lanes(self, bits: int) -> int:
        """Elements of this width in bits that a vector register holds."""
        return max(1, self.vector_bits // bits)

    def rows(self, extent: int, vectors: int) -> int:
        """Rows of the register tile, each of `vectors`, that finish `extent` rows soonest.

        Accumulators, a row of the other operand and one factor are in registers. Each step of a
        tile takes as long as its multiply-adds, but no less than their latency. Among tiles that
        take much the same time the smallest is chosen, whose code is the shortest, of those that
        leave no rest where there are such.
        """
        most = max(1, (self.registers - vectors - 1) // vectors)
        choices = range(1, min(most, MAX_ROWS, extent) + 1)
        cycles = {rows: _cycles(extent, rows, vectors) for rows in choices}
        soonest = min(cycles.values())
        good = [rows for rows in choices if cycles[rows] <= 1.03 * soonest]
        return min(good, key=lambda rows: (extent % rows > 0, rows))


def _cycles(extent: int, rows: int, vectors: int) -> float:
    """Cycles for one element of K of every row, in tiles of `rows` and a last smaller one."""
    rest = extent % rows
    return extent // rows * _step(rows, vectors) + (_step(rest, vectors) if rest else 0)


def _step(rows: int, vectors: int) -> float:
    return max(rows * vectors / 2, _LATENCY) + _OVERHEAD
