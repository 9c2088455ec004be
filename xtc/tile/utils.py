# SPDX-License-Identifier: Apache-2.0
"""Functions that kernels and the programs that call them use."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

from xtc.core.errors import UserError
from xtc.tile.values import Data


def cdiv(a: Any, b: Any) -> Any:
    """`a / b`, rounded up, of numbers that are not negative."""
    return (a + b - 1) // b


def ceil_div(a: Any, b: Any) -> Any:
    """`a / b`, rounded up, of numbers that are not negative."""
    return cdiv(a, b)


def gcd(*numbers: int) -> int:
    """The greatest common divisor of constants."""
    if any(isinstance(number, Data) for number in numbers):
        raise UserError("gcd takes numbers that are known when compiling")
    return math.gcd(*numbers)


def benchmark_func(run: Callable[[], Any], warmup: int = 1, repeat: int = 5) -> float:
    """The median time of a call in milliseconds, by this machine's clock.

    On a simulator that is the simulator's own time, which says nothing about a GPU.
    """
    for _ in range(warmup):
        run()
    seconds = []
    for _ in range(max(1, repeat)):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds)
