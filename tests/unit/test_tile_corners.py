# SPDX-License-Identifier: Apache-2.0
"""Corner cases of the tile language: simulator, interpreter and NumPy agree, and errors have a
line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit import tile_corners as corners
from xtc.core.errors import UserError
from xtc.tile.values.errors import KernelError

pytestmark = pytest.mark.slow


def agrees(program: Any, arguments: list[Any], expected: Any) -> None:
    """Check the last array on the simulator and in the interpreter."""
    for run in (program, program.check):
        out = np.full_like(expected, 7)
        run(*arguments, out)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(np.signbit(out), np.signbit(expected))


def numbers(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)


def test_lanes_at_other_distances_than_powers_of_two_are_reduced_in_memory() -> None:
    a, b = numbers(48, 16), numbers(16, 24)
    agrees(corners.RowsOfADot(), [a, b], (a @ b).sum(0))


@pytest.mark.parametrize(
    ("shape", "to"),
    [((24, 5), (120,)), ((7, 31), (31, 7)), ((2, 3, 1, 5), (3, 10)), ((17, 31), (527,))],
)
def test_tiles_not_divisible_by_threads_are_reshaped(
    shape: tuple[int, ...], to: tuple[int, ...]
) -> None:
    x = numbers(*shape)
    agrees(corners.UndividedReshaped(shape, to), [x], x.reshape(to))


def test_a_name_may_be_assigned_in_two_loops() -> None:
    agrees(corners.NameInTwoLoops(), [2], np.full(32, 4 * 8 + 3 + 0, np.float32))


def test_a_tile_may_be_updated_in_one_branch_and_replaced_in_another() -> None:
    agrees(corners.ChangedOrReplaced(), [5], np.full(32, ((1 * 2 + 1) * 2 + 1) * 2, np.float32))


def test_two_names_may_refer_to_one_tile() -> None:
    agrees(corners.Aliases("not read"), [1], np.full(32, 6, np.float32))


def test_assignment_to_the_name_of_a_tile_copies() -> None:
    agrees(corners.Aliases("copied"), [1], np.full(32, 1 + 4 + 1, np.float32))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("same in both", "may be the tile that was changed under another name"),
        ("branch", "may be the tile that was changed under another name"),
        ("entry", "may be the tile that was changed under another name"),
        ("iteration", "'p' is another name of a register tensor"),
    ],
)
def test_names_that_may_refer_to_one_tile_are_refused(case: str, message: str) -> None:
    with pytest.raises(KernelError, match=message) as caught:
        corners.Aliases(case).compile(2, None)
    assert any("x = x + y binds x to another tile" in hint for hint in caught.value.hints)


@pytest.mark.parametrize("case", ["name", "attribute"])
def test_a_tuple_changes_in_loops_and_branches(case: str) -> None:
    x = numbers(5, 32)
    agrees(corners.TupleState(case), [5, x], x.max(0) + 5 * x.sum(0))


def test_a_tuple_keeps_its_length() -> None:
    with pytest.raises(KernelError, match=r"'state' is .* before an iteration, and .* int32, 1"):
        corners.TupleState("longer").compile(5, None, None)


def test_atomic_instructions_on_a_part_of_a_view() -> None:
    x, expected = numbers(32).astype(np.int32), np.full(20, 7, np.int32)
    expected[:] = np.maximum(expected, x[:20])
    expected[4:] += x[:16]
    agrees(corners.AtomicPart(offsets=False), [20, x], expected)
    with pytest.raises(KernelError, match="global_add takes no argument 'offsets'") as caught:
        corners.AtomicPart(offsets=True).compile(20, None, None)
    assert any("global_scatter_add" in hint for hint in caught.value.hints)


def test_a_transposed_tile_is_assigned_to_another() -> None:
    x = numbers(4, 8)
    agrees(corners.Transposed(), [x], np.ascontiguousarray(x.T))


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


def test_shifts_by_the_width_or_more_are_defined() -> None:
    x = np.tile(np.array([1, -1, -(2**31), 12345], np.int32), 8)
    k = np.repeat(np.array([0, 1, 30, 31, 32, 33, 100, -1], np.int32), 4)
    far, least = (k < 0) | (k > 31), np.minimum(k.view(np.uint32), 31).view(np.int32)
    agrees(corners.Shifts(), [x, k], (x >> least) + np.where(far, 0, x << least).astype(np.int32))


@pytest.mark.parametrize("divisor", [None, 0, -1, 7])
def test_division_is_defined_for_all_operands(divisor: int | None) -> None:
    a = np.tile(np.array([-(2**31), 2**31 - 1, 9, -9], np.int32), 8)
    b = np.repeat(np.array([0, -1, 1, 2, -2, 7, -(2**31), 5], np.int32), 4)
    wide, by = a.astype(np.int64), b.astype(np.int64) if divisor is None else np.int64(divisor)
    quotients = np.where(by == 0, 0, np.trunc(wide / np.where(by == 0, 1, by))).astype(np.int64)
    remainders = np.where(by == 0, 0, wide - quotients * by)
    program = corners.Divided(by_tile=divisor is None)
    agrees(program, [divisor or 0, a, b], (quotients - remainders).astype(np.int32))


def test_shared_tensors_are_reshaped_and_keep_the_sign_of_zero() -> None:
    x = np.arange(32, dtype=np.float32)
    x[23] = -0.0
    agrees(corners.Reshaped(), [x], np.array([-0.0, 10, *[1] * 30], np.float32))


def test_tiles_not_divisible_by_threads_are_padded() -> None:
    """The padding of a tile is neither reduced nor stored."""
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
    "float as an offset": "the offset a run-time float32 is not an integer",
    "float as a size": "a run-time float32 is not a size",
    "size below 0": "-4 is not a size",
    "empty slice": "-4 is not a size",
    "infinite integer": "inf is not a number of type int32",
    "repeat": "-1 is not a size",
    "assume": "assume takes a condition of numbers",
    "max of Python": "Python's min and max take several values",
    "range": "range takes no 'unroll'",
    "type": "<class 'float'> is not an element type",
    "key": "there is no key 'z'",
    "unpacked": "cannot be unpacked",
    "text": "0.333 'a'",
    "wgmma": "wgmma.mma of 64 rows by 32 threads",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_error_has_a_line_and_a_caret(name: str) -> None:
    with pytest.raises(KernelError) as caught:
        corners.Mistake(name).compile(1, 1.0, None).ir("scheduled")
    assert MISTAKES[name] in str(caught.value)
    assert "tile_corners.py:" in str(caught.value)
    assert str(caught.value).split("\n")[2].strip() == "^"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), np.float32("nan")])
def test_non_integers_are_refused_at_the_call(number: Any) -> None:
    with pytest.raises(UserError, match=r"'n' is an int32, not (np.float32\()?(nan|inf)"):
        corners.NameInTwoLoops()(number, np.zeros(32, np.float32))


def test_surplus_arguments_are_refused() -> None:
    with pytest.raises(UserError, match=r"Masks\.__init__: too many positional arguments"):
        corners.Masks(3).compile(None, None)

    with pytest.raises(KernelError, match=r"a kernel cannot have a parameter '\*pointers'"):
        corners.Many().compile()
