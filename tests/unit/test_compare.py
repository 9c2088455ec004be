# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtc.core.errors import UserError, XtcError
from xtc.evaluate.compare import Comparison, MismatchError, compare
from xtc.evaluate.data import sample
from xtc.evaluate.tolerances import default_tolerances

Array = npt.NDArray[Any]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
EXACT = ["int4", "int8", "uint8", "int32", "int64", "uint64", "bool"]

shapes = st.lists(st.integers(1, 6), min_size=0, max_size=3)
seeds = st.integers(0, 10_000)


def pick(data: st.DataObject, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(data.draw(st.integers(0, extent - 1)) for extent in shape)


@pytest.mark.slow
@given(shape=shapes, dtype=st.sampled_from([*FLOATS, *EXACT]), seed=seeds)
def test_equal_arrays_agree(shape: list[int], dtype: str, seed: int) -> None:
    array = sample(shape, dtype, seed)
    result = compare(array.copy(), array, name="C")
    assert result.ok
    assert result.differing == 0
    assert result.total == array.size
    result.raise_if_wrong()


@pytest.mark.slow
@given(
    shape=shapes,
    dtype=st.sampled_from(FLOATS),
    seed=seeds,
    reduction=st.integers(1, 4096),
    factor=st.floats(1.2, 100),
    sign=st.sampled_from([-1, 1]),
    data=st.data(),
)
def test_a_wrong_float_is_detected(
    shape: list[int],
    dtype: str,
    seed: int,
    reduction: int,
    factor: float,
    sign: int,
    data: st.DataObject,
) -> None:
    expected = sample(shape, dtype, seed).astype(np.float64)
    actual, at = expected.astype(dtype), pick(data, expected.shape)
    rtol, atol = default_tolerances(actual, expected, reduction)
    tolerance = atol + rtol * abs(float(expected[at]))
    room = float(ml_dtypes.finfo(dtype).eps) * (abs(float(expected[at])) + factor * tolerance)
    actual[at] = float(expected[at]) + sign * (factor * tolerance + room)
    result = compare(actual, expected, name="C", reduction=reduction)
    assert not result.ok
    assert (result.differing, result.index) == (1, at)
    assert result.actual == float(actual[at])
    assert result.expected == float(expected[at])
    assert result.abs_error == abs(float(actual[at]) - float(expected[at]))


@pytest.mark.slow
@given(shape=shapes, dtype=st.sampled_from(EXACT), seed=seeds, data=st.data())
def test_a_wrong_exact_value_is_detected(
    shape: list[int], dtype: str, seed: int, data: st.DataObject
) -> None:
    expected = sample(shape, dtype, seed, full_range=True)
    actual, at = expected.copy(), pick(data, expected.shape)
    wrong = not bool(expected[at]) if dtype == "bool" else int(expected[at]) ^ 1
    actual[at] = wrong
    result = compare(actual, expected, name="C")
    assert not result.ok
    assert (result.differing, result.index, result.abs_error) == (1, at, 1)


@pytest.mark.slow
@given(
    shape=shapes,
    dtype=st.sampled_from(FLOATS),
    value=st.sampled_from([math.nan, math.inf, -math.inf]),
    swap=st.booleans(),
    data=st.data(),
)
def test_a_single_nan_or_infinity_is_detected(
    shape: list[int], dtype: str, value: float, swap: bool, data: st.DataObject
) -> None:
    good = sample(shape, dtype, 1)
    bad, at = good.copy(), pick(data, good.shape)
    bad[at] = value
    result = compare(good, bad, name="C") if swap else compare(bad, good, name="C")
    assert not result.ok
    assert (result.differing, result.one_sided, result.index) == (1, 1, at)
    assert "1 of them NaN or infinite on one side only" in str(result)
    assert compare(bad, bad.astype(np.float64), name="C").ok


def test_worst_element_is_the_one_furthest_outside_its_tolerance() -> None:
    expected = np.array([[1.0, 100.0], [1000.0, 2.0]])
    actual = expected + np.array([[0.0, 5.0], [20.0, 0.5]])
    result = compare(actual, expected, name="C", rtol=0.01, atol=0.0)
    assert (result.index, result.differing, result.total) == ((1, 1), 3, 4)
    assert (result.abs_error, result.rel_error) == (0.5, 0.25)


def test_a_wrong_nan_is_worse_than_any_number() -> None:
    expected = np.ones(3)
    result = compare(np.array([1e300, math.nan, 1.0]), expected, name="C")
    assert (result.index, result.differing) == ((1,), 2)


def test_opposite_infinities_differ() -> None:
    result = compare(np.array([math.inf]), np.array([-math.inf]), name="C")
    assert not result.ok
    assert result.rel_error == math.inf


def test_an_infinite_reference_loosens_no_tolerance() -> None:
    result = compare(np.array([1.0, 2.0]), np.array([math.inf, 2.0]), name="C")
    assert (result.ok, result.index) == (False, (0,))


def test_overflow_of_a_narrow_type_equals_infinity() -> None:
    infinite = np.array([math.inf, 1.0], dtype=np.float16)
    assert compare(infinite, np.array([70_000.0, 1.0]), name="C").ok
    assert not compare(infinite, np.array([60_000.0, 1.0]), name="C").ok
    assert not compare(infinite, np.array([-70_000.0, 1.0]), name="C").ok


def summed_one_by_one(a: Array, b: Array, accumulator: str) -> Array:
    """a @ b with every partial sum rounded to `accumulator`."""
    total = np.zeros((a.shape[0], b.shape[1]), accumulator)
    wide_a, wide_b = a.astype(accumulator), b.astype(accumulator)
    for k in range(a.shape[1]):
        total = (total + wide_a[:, k : k + 1] * wide_b[k : k + 1, :]).astype(accumulator)
    return total


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("terms", [1, 2, 8, 64, 2048])
def test_rounding_alone_is_within_the_defaults(dtype: str, terms: int) -> None:
    a, b = sample((48, terms), dtype, 1), sample((terms, 48), dtype, 2)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    actual = summed_one_by_one(a, b, "float32").astype(dtype)
    compare(actual, expected, name="C", reduction=terms).raise_if_wrong()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_in_the_narrow_type_are_detected(dtype: str) -> None:
    a, b = sample((48, 2048), dtype, 1), sample((2048, 48), dtype, 2)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert not compare(summed_one_by_one(a, b, dtype), expected, name="C", reduction=2048).ok


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("terms", [1, 2, 8, 64, 512])
def test_a_missing_summand_is_detected(dtype: str, terms: int) -> None:
    a, b = sample((48, terms), dtype, 1), sample((terms, 48), dtype, 2)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    actual = (expected - np.outer(a[:, -1], b[-1, :])).astype(dtype)
    assert not compare(actual, expected, name="C", reduction=terms).ok


def test_default_tolerances_follow_the_formula() -> None:
    ones = np.ones(10, dtype=np.float32)
    rtol, atol = default_tolerances(ones, ones.astype(np.float64), reduction=16)
    assert rtol == pytest.approx(4 * 2.0**-24 * (4 + 4))
    assert atol == pytest.approx(rtol, rel=1e-6)
    assert default_tolerances(ones, ones, reduction=10**14)[0] == 0.25
    half = ones.astype(np.float16)
    assert default_tolerances(half, ones, reduction=16)[0] == pytest.approx(
        4 * (4 * 2.0**-11 + 4 * 2.0**-24)
    )
    given_scale = default_tolerances(ones, ones, reduction=16, scale=100.0)
    assert given_scale[1] == pytest.approx(100 * rtol)


def test_the_less_precise_side_sets_the_tolerance() -> None:
    ones = np.ones(4)
    from_reference = default_tolerances(ones, ones.astype(np.float16))
    from_result = default_tolerances(ones.astype(np.float16), ones)
    assert from_reference[0] == from_result[0] > 1e-3


def test_integers_are_exact_by_default() -> None:
    assert default_tolerances(np.ones(2, np.int8), np.ones(2, np.int8), 100) == (0.0, 0.0)
    near = np.array([2**62 + 1])
    assert not compare(near, near - 1, name="C").ok
    assert compare(np.array([10, 20]), np.array([11, 19]), name="C", atol=1).ok


def test_integers_of_other_widths_compare_by_value() -> None:
    assert compare(np.array([1, 2], np.int32), np.array([1, 2], np.int64), name="C").ok
    big = np.array([2**64 - 1], np.uint64)
    assert not compare(big, np.array([-1], np.int64), name="C").ok


def test_a_huge_element_does_not_loosen_the_tolerance_of_small_ones() -> None:
    result = compare(np.array([1e30, 2.0]), np.array([1e30, 1.0]), name="C")
    assert (result.ok, result.index) == (False, (1,))


def test_underflow_may_flush_to_zero() -> None:
    tiny = np.array([1e-40, -1e-39], dtype=np.float32)
    assert compare(np.zeros(2, np.float32), tiny, name="C").ok
    assert not compare(np.zeros(2, np.float32), tiny + np.float32(1e-30), name="C").ok


def test_shape_mismatch() -> None:
    result = compare(np.zeros((4, 8)), np.zeros((4, 9)), name="C")
    assert str(result) == "C: shape (4, 8) where (4, 9) was expected"
    assert (result.ok, result.index, result.differing) == (False, None, 36)
    with pytest.raises(MismatchError, match=r"'C' is wrong: shape \(4, 8\)"):
        result.raise_if_wrong()


def test_kind_mismatch() -> None:
    result = compare(np.zeros(2, np.int32), np.zeros(2, np.float32), name="C")
    assert str(result) == "C: element type int32 where float32 was expected"
    assert not result.ok


def test_empty_arrays_agree() -> None:
    result = compare(np.zeros((0, 3)), np.zeros((0, 3)), name="C")
    assert (result.ok, result.total, result.index) == (True, 0, None)


def wrong_result() -> Comparison:
    expected = np.arange(6.0).reshape(2, 3)
    actual = expected.astype(np.float32)
    actual[1, 2] = 7.5
    return compare(actual, expected, name="C", rtol=1e-6, atol=1e-7)


def test_line_names_worst_element_count_and_tolerances() -> None:
    assert str(wrong_result()) == (
        "C: 1 of 6 elements differ; worst at [1, 2]: 7.5 where 5 was expected"
        " (error 2.5 absolute, 0.5 relative); rtol 1e-06, atol 1e-07"
    )
    assert "\n" not in str(wrong_result())


def test_error_names_worst_element_count_and_tolerances() -> None:
    with pytest.raises(MismatchError) as caught:
        wrong_result().raise_if_wrong()
    assert isinstance(caught.value, XtcError)
    text = str(caught.value)
    for part in ("'C'", "1 of 6", "[1, 2]", "7.5", "rtol 1e-06", "atol 1e-07"):
        assert part in text


def test_values_that_look_alike_are_printed_in_full() -> None:
    expected = np.array([1.0])
    result = compare(np.nextafter(expected, 2.0), expected, name="C", rtol=0, atol=0)
    assert "1.0000000000000002 where 1.0 was expected" in str(result)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"rtol": -1.0}, "rtol is -1"),
        ({"atol": math.nan}, "atol is nan"),
        ({"scale": math.inf}, "scale is inf"),
        ({"reduction": 0}, "reduction is 0"),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(UserError, match=text):
        compare(np.ones(2), np.ones(2), name="C", **arguments)


def test_complex_is_refused() -> None:
    with pytest.raises(UserError, match="complex128"):
        compare(np.ones(2, complex), np.ones(2, complex), name="C")
