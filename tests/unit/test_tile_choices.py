# SPDX-License-Identifier: Apache-2.0
"""Operands with effects run as often as in Python: in conditions of loops, after and, or and if."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.tile_effects import Effects, SpinLock

pytestmark = pytest.mark.slow


def in_python(n: int) -> tuple[list[int], list[int]]:
    """The same with a list."""
    counts = [0] * 8

    def count(at: int) -> int:
        counts[at] += 1
        return counts[at] - 1

    steps = both = 0
    while count(0) < n:
        steps += 1
    while count(1) < n:
        if steps >= 3:
            break
    for i in range(n):
        if i > 1 and count(2) >= 0:
            both += 1
        if i > 1 or count(3) >= 0:
            both += 1
    chosen = count(4) if n > 100 else count(5)
    constant = 7 if n > 0 else count(6)
    return counts, [steps, both, chosen, constant]


@pytest.mark.parametrize("n", [0, 2, 5])
def test_operands_with_effects_run_as_often_as_in_python(n: int) -> None:
    program = Effects()
    runs: tuple[Callable[..., Any], ...] = program, program.check
    for run in runs:
        counts, y = np.zeros(8, np.int32), np.zeros(4, np.int32)
        run(n, counts, y)
        assert (counts.tolist(), y.tolist()) == in_python(n)


def test_a_lock_in_the_condition_of_a_loop_is_taken_once() -> None:
    x = np.zeros(1, np.int32)
    SpinLock().check(x)
    SpinLock()(x)
    assert x[0] == 6
