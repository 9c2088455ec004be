# SPDX-License-Identifier: Apache-2.0
"""Loops and kernels that end early, and scalar functions, as in Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.unit import tile_exits
from xtc.core.errors import UserError

pytestmark = pytest.mark.slow


def _counted(n: int) -> int:
    count = i = 0
    while i < 4:
        i += 1
        j = 0
        while j < 5:
            j += 1
            if j == i:
                break
            if j == 2:
                continue
            count += 1
        for k in range(5):
            if k > i:
                break
            count += 10
        if i == n:
            break
    return count


def test_nested_loops_may_break() -> None:
    program = tile_exits.Nested()
    for run in (program.check, program):
        for n in (1, 3, 9):
            y = np.zeros(1, np.int32)
            run(n, y)
            assert y[0] == _counted(n)


def _written_out(limit: int, x: list[int]) -> list[int]:
    total = nested = 0
    for found in x:
        if found < 0:
            continue
        if total + found > limit:
            break
        total += found
    for i, weight in enumerate([10, 20, 30]):
        for j in range(3):
            if j == i:
                continue
            if x[j] == 99:
                break
            nested += weight + j
        if nested > limit * 10:
            break
    return [5 + 3, total, nested]


@pytest.mark.parametrize(
    ("limit", "x"), [(10, [1, 2, -3, 4, 5, 6, 7, 8]), (100, [3, 99, 2, -1, 5, -6, 7, 8])]
)
def test_unrolled_loops_may_end_early(limit: int, x: list[int]) -> None:
    program = tile_exits.Unrolled()
    for run in (program.check, program):
        y = np.zeros(3, np.int32)
        run(limit, np.array(x, np.int32), y)
        assert y.tolist() == _written_out(limit, x)


def test_loops_may_return_from_methods_and_kernels() -> None:
    program = tile_exits.Returning()
    for run in (program.check, program):
        for n in (3, 6, 99):
            y = np.zeros(21, np.int32)
            run(n, y)
            passed = [number for number in range(16) if number < n]
            rows = [16 + row for row in range(4) if row * 4 + 3 < n]
            ends = [] if n <= 5 else [20]
            assert list(np.flatnonzero(y)) == [*passed, *rows, *ends]


def _marked(n: int, stop: bool) -> tuple[int, int]:
    """The number of marks before the kernel ends, and the value that it stores."""
    if n < 6:
        return n, 0
    if n in (7, 8):
        return n, 0
    if n in (9, 10, 11):
        return n, 0
    if n == 12:
        return 12, 0
    value = 2 * n + 1 if n == 13 else 4 * n
    return 13 if stop else 15, value


def test_a_bare_return_in_a_branch_of_a_method_ends_the_kernel() -> None:
    program = tile_exits.Ending()
    for run in (program.check, program):
        for n in range(16):
            for stop in (False, True):
                y = np.zeros(24, np.int32)
                run(n, stop, y)
                count, value = _marked(n, stop)
                assert list(np.flatnonzero(y[:22])) == list(range(count)), n
                assert y[22] == value, n


def test_a_return_inside_of_an_expression_is_refused() -> None:
    with pytest.raises(UserError) as caught:
        tile_exits.EndedInside().compile(1)
    text = str(caught.value)
    assert "a method that may end the kernel is called inside of an expression" in text
    assert "hint: assign what the method returns to a variable first" in text


def test_an_early_return_of_none_is_refused() -> None:
    with pytest.raises(UserError) as caught:
        tile_exits.NoneReturned().compile(1)
    text = str(caught.value)
    assert "'return None' in a branch or loop" in text
    assert "hint: write return to end the kernel, or make the rest conditional" in text


def test_a_method_cannot_end_the_kernel_for_a_thread_group() -> None:
    with pytest.raises(UserError, match="a group of threads cannot be left by return"):
        tile_exits.EndedInGroup().compile(1)


def test_a_thread_group_cannot_return() -> None:
    with pytest.raises(UserError) as caught:
        tile_exits.GroupLeft().compile(1)
    text = str(caught.value)
    assert "a group of threads cannot be left by return, break or continue" in text
    assert "note: the other threads of the block would continue" in text
    assert "hint: make the statements that follow in the group conditional" in text


def test_functions_of_numbers() -> None:
    program = tile_exits.NumberFunctions()
    for run in (program.check, program):
        y = np.zeros(7, np.float32)
        run(1.75, y)
        np.testing.assert_allclose(y, [1, -1, 1.75, 1.75**2, math.tan(1.75), 0, 1], rtol=1e-5)
    with pytest.raises(
        UserError, match=r"math\.expm1 of a run-time number is not supported in a kernel"
    ):
        tile_exits.NoFunction().compile(1.0)
