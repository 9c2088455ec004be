# SPDX-License-Identifier: Apache-2.0
"""The processor parameters of default schedules, and the choice of a register tile."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MAX_ROWS = 14  # of a register tile: with more, code is longer but not faster
_LATENCY = 4  # of a fused multiply-add, in cycles; two start per cycle, so eight are in flight
# Costs that arithmetic does not hide, in cycles. They fit measurements on an idle core, where tiles
# of 28 and of 24 accumulators are equally fast, and on a shared core, where a 1024-cube reaches 98,
# 102, 120 and 119 GFLOP/s in tiles of 8 x 2, 12 x 2, 8 x 3 and 6 x 4.
_OVERHEAD = 0.8  # per iteration of K of a register tile
_LOAD = 0.25  # per load from the first-level cache
_FETCH = 0.35  # per vector of the panel, from the second-level cache
_LINE, _SPAN, _WAYS = 64, 4096, 8  # of the first-level cache: line and set stride in bytes, ways


@dataclass(frozen=True)
class Processor:
    """The parameters of a core that schedules depend on.

    Attributes:
        vector_bits: width of a vector register.
        registers: number of vector registers.
        l1_bytes: first-level data cache of a core.
        l2_bytes: second-level cache of a core.
        parallel: whether several threads may share loops.
        dots: the processor features with dot-product instructions.
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

    def tile(self, extent: int, vectors: Iterable[int], most: int = MAX_ROWS) -> tuple[int, int]:
        """Rows and vectors of the fastest register tile for `extent` rows.

        Registers hold the accumulators, one row of the panel, and one element of the other operand.
        An iteration of K takes as long as its multiply-adds, but at least their latency, plus a
        part of its loads. Among the tiles that divide `extent` and are within 3 % of the fastest,
        the narrowest is taken, then the one with the fewest rows, whose code is the shortest.

        Args:
            extent: total number of rows.
            vectors: possible widths of the tile, in vectors.
            most: most rows of the tile.
        """
        extents = {count: min(extent, most, self._most_rows(count)) for count in vectors}
        choices = [(rows, n) for n, last in extents.items() for rows in range(1, last + 1)]
        cycles = {choice: _cycles(extent, *choice) / choice[1] for choice in choices}
        soonest = min(choices, key=lambda tile: cycles[tile])
        even = [tile for tile in choices if extent % tile[0] == 0]
        good = [tile for tile in even if cycles[tile] <= 1.03 * cycles[soonest]]
        return min(good, key=lambda tile: (tile[1], tile[0]), default=soonest)

    def _most_rows(self, vectors: int) -> int:
        return min(MAX_ROWS, max(1, (self.registers - vectors - 1) // vectors))


def rows_side_by_side(step: int) -> int:
    """The number of rows, `step` bytes apart, of which the first-level cache can hold a line each.

    Addresses that are multiples of 4 KiB apart share a set, which has eight lines, in caches of 64
    sets of 64-byte lines (AMD, "Software Optimization Guide for the AMD Zen4 Microarchitecture",
    57647; Intel's have eight or twelve). On a Zen 4, tiles of 8, 12 and 14 rows that are 8 KiB
    apart reach 113, 103 and 87 GFLOP/s.
    """
    return _WAYS * (_SPAN // math.gcd(_SPAN, max(step, _LINE)))


def _cycles(extent: int, rows: int, vectors: int) -> float:
    """Cycles per iteration of K for all rows, in tiles of `rows` and a smaller last one."""
    rest = extent % rows
    return extent // rows * _step(rows, vectors) + (_step(rest, vectors) if rest else 0)


def _step(rows: int, vectors: int) -> float:
    loads = _LOAD * rows + _FETCH * vectors
    return max(rows * vectors / 2, _LATENCY) + loads + _OVERHEAD
