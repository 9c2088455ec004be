# SPDX-License-Identifier: Apache-2.0
"""Register tiles for compilers that take a schedule: suitable tiles, and the fastest of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

Tile = tuple[int, int]

TILES: Sequence[Tile] = ((4, 64), (8, 32), (14, 32))
"""Rows and columns: 16 to 28 vectors of 16 elements, which the registers of AVX-512 hold."""
_TRIALS = 3


def tiles_of(rows: int, columns: int) -> list[Tile]:
    """The distinct tiles, reduced to divisors of the sizes."""
    fitted = [(divisor(rows, tile[0]), vector_divisor(columns, tile[1])) for tile in TILES]
    return list(dict.fromkeys(fitted))


def divisor(size: int, wanted: int) -> int:
    """The largest divisor of `size` up to `wanted`."""
    return max(part for part in range(1, min(size, wanted) + 1) if size % part == 0)


def vector_divisor(size: int, wanted: int) -> int:
    """The largest such divisor that fills vectors of 16, 8 or 4 elements, if there is one."""
    for width in (16, 8, 4):
        if size % width == 0 and wanted >= width:
            return width * divisor(size // width, wanted // width)
    return divisor(size, wanted)


def fastest(functions: Sequence[Callable[..., Any]], arguments: Sequence[Any]) -> Any:
    """The function with the shortest of a few calls."""
    return min(functions, key=lambda function: _seconds(function, arguments))


def _seconds(function: Callable[..., Any], arguments: Sequence[Any]) -> float:
    function(*arguments)
    times = []
    for _ in range(_TRIALS):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)
