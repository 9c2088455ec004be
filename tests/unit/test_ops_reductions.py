# SPDX-License-Identifier: Apache-2.0
"""reduce_sum, reduce_max, reduce_min, reduce_mean: compiled code and NumPy reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import xtc.ops as O
from tests.unit.ops_support import (
    ALL,
    FLOATS,
    INTS,
    Array,
    Write,
    agree,
    data,
    exactly,
    graph_of,
    result,
    results,
)
from tests.unit.ops_support import UNTYPED as U
from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES

SHAPE = (3, 1, 4, 5)
AXES: list[Any] = [None, 0, -1, (1,), (0, 2), (3, 1), (-4, -1, 1), ()]


def group_by_group(
    x: Array, axes: Any, keepdims: bool, combine: Callable[[list[Any]], Any]
) -> Array:
    """`combine` applied to the Python numbers of each reduced group."""
    given = range(x.ndim) if axes is None else np.atleast_1d(np.array(axes, int))
    reduced = [int(axis) % x.ndim for axis in given]
    kept = [axis for axis in range(x.ndim) if axis not in reduced]
    rows = x.transpose(*kept, *reduced).reshape(math.prod(x.shape[a] for a in kept), -1)
    shape = [
        1 if axis in reduced else size
        for axis, size in enumerate(x.shape)
        if keepdims or axis not in reduced
    ]
    return np.array([combine(row.tolist()) for row in rows], object).reshape(shape)


def along(write: Write, keepdims: bool) -> list[Write]:
    return [lambda x, axes=axes: write(x, axes=axes, keepdims=keepdims) for axes in AXES]


@pytest.mark.slow
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_and_means_of_floats(dtype: str, keepdims: bool) -> None:
    x = data(SHAPE, dtype)
    formulas = [(O.reduce_sum, math.fsum), (O.reduce_mean, lambda r: math.fsum(r) / len(r))]
    for write, formula in formulas:
        for axes, actual in zip(AXES, results(along(write, keepdims), x), strict=True):
            expected = group_by_group(x.astype(np.float64), axes, keepdims, formula)
            agree(actual, expected.astype(np.float64), x.size)


@pytest.mark.slow
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", INTS)
def test_sums_of_integers_wrap(dtype: str, keepdims: bool) -> None:
    x = data(SHAPE, dtype)
    wide = "int64" if dtype == "int64" else "int32"
    half = 1 << (ELEMENT_TYPES[wide].bits - 1)

    def wrapped_sum(row: Sequence[int]) -> int:
        return (sum(row) + half) % (2 * half) - half

    for axes, actual in zip(AXES, results(along(O.reduce_sum, keepdims), x), strict=True):
        exactly(actual, group_by_group(x, axes, keepdims, wrapped_sum).astype(wide))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize(("write", "pick"), [(O.reduce_max, max), (O.reduce_min, min)])
def test_largest_and_smallest(dtype: str, write: Write, pick: Callable[[Any], Any]) -> None:
    x = data(SHAPE, dtype)
    for axes, actual in zip(AXES, results(along(write, False), x), strict=True):
        exactly(actual, group_by_group(x, axes, False, pick).astype(x.dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", INTS)
def test_the_extreme_integers_are_found(dtype: str) -> None:
    limits = np.iinfo(dtype)
    lowest, highest = np.full((2, 3), limits.min, dtype), np.full((2, 3), limits.max, dtype)
    exactly(result(lambda x: O.reduce_max(x, axes=1), lowest), lowest[:, 0])
    exactly(result(lambda x: O.reduce_min(x, axes=1), highest), highest[:, 0])


def test_any_and_all_of_bool() -> None:
    x = np.array([[False, False], [False, True], [True, True]])
    some, every = results([lambda x: O.reduce_max(x, axes=1), lambda x: O.reduce_min(x, axes=1)], x)
    exactly(some, np.array([False, True, True]))
    exactly(every, np.array([False, False, True]))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_infinities_propagate(dtype: str) -> None:
    nan, inf = math.nan, math.inf
    rows = [[1, nan, 2], [nan, -inf, inf], [inf, 1, 2], [-inf] * 3, [inf, -inf, 0], [inf] * 3]
    x = np.array(rows, ELEMENT_TYPES[dtype].numpy)
    writes = [O.reduce_max, O.reduce_min, O.reduce_sum, O.reduce_mean]
    found = results([lambda x, write=write: write(x, axes=1) for write in writes], x)
    expected = [
        [nan, nan, inf, -inf, inf, inf],
        [nan, nan, 1, -inf, -inf, inf],
        [nan, nan, inf, -inf, nan, inf],
        [nan, nan, inf, -inf, nan, inf],
    ]
    for actual, values in zip(found, expected, strict=True):
        exactly(actual, np.array(values, x.dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_are_summed_in_float32(dtype: str) -> None:
    ones = np.ones((2, 4096), ELEMENT_TYPES[dtype].numpy)  # in halves the sum stops at 2048 or 256
    large = np.full((8,), 60000, ones.dtype)  # in float16 their sum is infinite
    exactly(result(lambda x: O.reduce_sum(x, axes=1), ones), np.full((2,), 4096, ones.dtype))
    exactly(result(O.reduce_mean, large), np.asarray(large[0]))


def test_rank_0_reduces_to_itself() -> None:
    x = np.array(3, np.int8)
    exactly(result(O.reduce_sum, x), np.array(3, np.int32))
    exactly(result(O.reduce_max, x), x)


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda x, i, c: O.reduce_sum(c), "reduce_sum is not defined on bool"),
        (lambda x, i, c: O.reduce_mean(i), "reduce_mean is not defined on int32"),
        (lambda x, i, c: O.reduce_sum(x, axes=2), "axes of reduce_sum is 2, but the operand has"),
        (lambda x, i, c: O.reduce_max(x, axes=(0, -2)), "which names an axis twice"),
        (lambda x, i, c: U.reduce_min(x, axes=1.0), "axes of reduce_min is 1.0, not a sequence"),
        (lambda x, i, c: O.reduce_mean(x, axes=True), r"axes\[0\] of reduce_mean is True"),
        (lambda x, i, c: U.reduce_sum(x, keepdims=1), "keepdims of reduce_sum is 1, neither"),
        (lambda x, i, c: U.reduce_sum(3), "an operand of reduce_sum is int, not a tensor"),
    ],
)
def test_invalid_operands_are_refused_at_the_users_line(write: Write, text: str) -> None:
    arrays = [data((3, 4), dtype) for dtype in ("float32", "int32", "bool")]
    with pytest.raises(UserError, match=text) as caught:
        graph_of([write], *arrays)
    assert "test_ops_reductions.py" in str(caught.value.where)


def test_the_first_dimension_may_be_symbolic() -> None:
    x = O.tensor(("n", 3), name="x")
    with O.graph() as gb:
        O.outputs(O.reduce_sum(x, axes=1), O.reduce_mean(x, axes=0), O.reduce_max(x, keepdims=True))
    assert [tensor.shape for tensor in gb.graph.outputs] == [("n",), (3,), (1, 1)]
    array = data((5, 3), "float32")
    agree(gb.graph.evaluate(array)[str(gb.graph.outputs[1].name)], np.mean(array, axis=0))


def test_loops_flops_and_reduction_size() -> None:
    graph = graph_of(
        [lambda x: O.reduce_sum(x, axes=(0, 2)), lambda x: O.reduce_mean(x, axes=1)],
        data((2, 3, 4), "float32"),
    )
    total, mean = graph.nodes
    loops = total.op.loops(*total.input_types)
    assert [(loop.name, loop.reduction) for loop in loops] == [
        ("i", True),
        ("j", False),
        ("k", True),
    ]
    assert [loop.name for loop in mean.op.loops(*mean.input_types)] == ["i", "j"]
    assert [node.flops for node in graph] == [24, 24 + 8]
    assert [node.op.reduction_size(*node.input_types) for node in graph] == [8, 3]
