# SPDX-License-Identifier: Apache-2.0
"""Operands with effects run as often as in Python: in conditions of loops, after and, or and if."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xtc import tile
from xtc.tile import int32

pytestmark = pytest.mark.slow


class Effects(tile.Script):
    """Each expression counts how often it is evaluated."""

    def __call__(self, n: int32, count_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        counts = self.global_view(count_ptr, dtype=int32, shape=[8])
        y = self.global_view(y_ptr, dtype=int32, shape=[4])
        steps: int32 = 0
        while self.count(counts, 0) < n:
            steps += 1
        while self.count(counts, 1) < n:
            if steps >= 3:
                break
        both: int32 = 0
        for i in range(n):
            if i > 1 and self.count(counts, 2) >= 0:
                both += 1
            if i > 1 or self.count(counts, 3) >= 0:
                both += 1
        chosen = self.count(counts, 4) if n > 100 else self.count(counts, 5)
        constant = 7 if n > 0 else self.count(counts, 6)
        for at, value in enumerate([steps, both, chosen, constant]):
            self.store_global(
                y, self.register_tensor(dtype=int32, shape=[1], init=value), offsets=[at]
            )

    def count(self, counts, at):
        single = self.register_tensor(dtype=int32, shape=[1], init=1)
        cell = self.global_view(~counts[at], dtype=int32, shape=[1])
        return self.atomic.global_add(cell, single).item()


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


class SpinLock(tile.Script):
    """Each block adds 1 under a lock that it takes in the condition of a loop."""

    def __call__(self, x_ptr: ~int32):
        self.attrs.blocks = 3
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=int32, shape=[1])
        lock = self.global_tensor(dtype=int32, shape=[1], requires_clean=True)
        free = self.register_tensor(dtype=int32, shape=[1], init=0)
        taken = self.register_tensor(dtype=int32, shape=[1], init=1)
        while self.atomic.global_cas(lock, free, taken, sem="acquire").item() == 1:
            pass
        self.sync()
        self.store_global(x, self.load_global(x, offsets=[0], shape=[1]) + 1, offsets=[0])
        self.sync()
        self.atomic.global_exch(lock, free, sem="release")


def test_a_lock_in_the_condition_of_a_loop_is_taken_once() -> None:
    x = np.zeros(1, np.int32)
    SpinLock().check(x)
    SpinLock()(x)
    assert x[0] == 6
