# SPDX-License-Identifier: Apache-2.0
"""Corners of the language of tile kernels: simulator, interpreter and NumPy agree, and mistakes are
refused with their line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit import tile_corners as corners
from xtc.core.errors import UserError
from xtc.tile.errors import KernelError

pytestmark = pytest.mark.slow


def agrees(program: Any, arguments: list[Any], expected: Any) -> None:
    """The last array is what is expected, on the simulator and in the interpreter."""
    for run in (program, program.check):
        out = np.full_like(expected, 7)
        run(*arguments, out)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(np.signbit(out), np.signbit(expected))


def numbers(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)


def test_lanes_that_are_no_power_of_two_apart_are_added_in_memory() -> None:
    a, b = numbers(48, 16), numbers(16, 24)
    agrees(corners.RowsOfADot(), [a, b], (a @ b).sum(0))


def test_a_name_that_two_loops_set() -> None:
    agrees(corners.NameInTwoLoops(), [2], np.full(32, 4 * 8 + 3 + 0, np.float32))


def test_another_tensor_in_the_next_iteration_is_refused() -> None:
    agrees(corners.Swapped(right=True), [4], np.full(32, 4, np.float32))
    with pytest.raises(
        KernelError, match=r"'a' is a shared tensor .* before an iteration"
    ) as caught:
        corners.Swapped(right=False).compile(4, None)
    assert any("slots[number % 2]" in hint for hint in caught.value.hints)


def test_masks_are_inverted() -> None:
    m = np.arange(32) % 3 == 0
    agrees(corners.Masks(), [m], ~m & (np.arange(32) > 3))


def test_shifts_by_the_width_or_more() -> None:
    x = np.tile(np.array([1, -1, -(2**31), 12345], np.int32), 8)
    k = np.repeat(np.array([0, 1, 30, 31, 32, 33, 100, -1], np.int32), 4)
    far, least = (k < 0) | (k > 31), np.minimum(k.view(np.uint32), 31).view(np.int32)
    agrees(corners.Shifts(), [x, k], (x >> least) + np.where(far, 0, x << least).astype(np.int32))


@pytest.mark.parametrize("divisor", [None, 0, -1, 7])
def test_no_division_faults(divisor: int | None) -> None:
    a = np.tile(np.array([-(2**31), 2**31 - 1, 9, -9], np.int32), 8)
    b = np.repeat(np.array([0, -1, 1, 2, -2, 7, -(2**31), 5], np.int32), 4)
    wide, by = a.astype(np.int64), b.astype(np.int64) if divisor is None else np.int64(divisor)
    quotients = np.where(by == 0, 0, np.trunc(wide / np.where(by == 0, 1, by))).astype(np.int64)
    remainders = np.where(by == 0, 0, wide - quotients * by)
    program = corners.Divided(by_tile=divisor is None)
    agrees(program, [divisor or 0, a, b], (quotients - remainders).astype(np.int32))


def test_a_reshaped_shared_tensor_and_the_sign_of_zero() -> None:
    x = np.arange(32, dtype=np.float32)
    x[23] = -0.0
    agrees(corners.Reshaped(), [x], np.array([-0.0, 10, *[1] * 30], np.float32))


def test_tiles_that_threads_cannot_divide() -> None:
    """What a padded tile has outside of it neither counts nor is stored."""
    m, n = 11, 13
    x = numbers(m, n)
    at = np.random.default_rng(1).integers(0, m, (m, n)).astype(np.int32)
    scattered = np.zeros((m, n), np.float32)
    np.add.at(scattered, (at, np.arange(n)), x)
    rows = x.min(1) + x.cumsum(1).max(1) * (x < 3).all(1)
    parts = [x.max(0) + x.sum(0), rows, x @ x.T, x.T, scattered]
    expected = np.concatenate([part.reshape(-1) for part in parts])
    agrees(corners.Undivided(m, n), [x, at], expected + np.float32(0))


MISTAKES = {
    "tile as an offset": "the offset a register tensor float32",
    "float as an offset": "the offset a run-time float32 is no integer",
    "float as a size": "a run-time float32 is no size",
    "size below 0": "-4 is no size",
    "empty slice": "-4 is no size",
    "infinite integer": "inf is no number of type int32",
    "repeat": "-1 is no size",
    "assume": "assume takes a condition of numbers",
    "max of Python": "min and max of Python take several values",
    "range": "range takes no 'unroll'",
    "type": "<class 'float'> is not an element type",
    "key": "there is no key 'z'",
    "unpacked": "cannot be unpacked",
    "text": "0.333 'a'",
    "wgmma": "wgmma.mma of 64 rows by 32 threads",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_has_a_line_and_a_caret(name: str) -> None:
    with pytest.raises(KernelError) as caught:
        corners.Mistake(name).compile(1, 1.0, None).ir("scheduled")
    assert MISTAKES[name] in str(caught.value)
    assert "tile_corners.py:" in str(caught.value)
    assert str(caught.value).split("\n")[2].strip() == "^"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), np.float32("nan")])
def test_what_is_no_integer_is_refused_at_the_call(number: Any) -> None:
    with pytest.raises(UserError, match=r"'n' is an int32, not (np.float32\()?(nan|inf)"):
        corners.NameInTwoLoops()(number, np.zeros(32, np.float32))


def test_arguments_that_nothing_takes_are_refused() -> None:
    with pytest.raises(UserError, match=r"Masks\.__init__: too many positional arguments"):
        corners.Masks(3).compile(None, None)

    with pytest.raises(KernelError, match=r"a kernel takes no '\*pointers'"):
        corners.Many().compile()
