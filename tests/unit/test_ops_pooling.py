# SPDX-License-Identifier: Apache-2.0
"""max_pool2d and avg_pool2d: explicit windows, types, and compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.core.types import TensorType, element_type
from xtc.graph.graph import Graph
from xtc.ops.avg_pool2d import AvgPool2d
from xtc.ops.max_pool2d import MaxPool2d
from xtc.ops.pooling import Pool2d

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64"]

Array = np.ndarray[Any, Any]


def by_hand(x: Array, op: Pool2d, reduce: Callable[[Array], Array]) -> Array:
    """`reduce` of the elements (count, c) under each window, one position after another."""
    (top, bottom), (left, right) = op.padding
    n, height, width, c = x.shape
    reach = [(taps - 1) * gap for taps, gap in zip(op.window, op.dilation, strict=True)]
    rows = range(-top, height + bottom - reach[0], op.stride[0])
    columns = range(-left, width + right - reach[1], op.stride[1])
    result = np.empty((n, len(rows), len(columns), c))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            taps = [
                x[:, row + r * op.dilation[0], column + s * op.dilation[1]]
                for r in range(op.window[0])
                for s in range(op.window[1])
                if 0 <= row + r * op.dilation[0] < height
                and 0 <= column + s * op.dilation[1] < width
            ]
            result[:, i, j] = reduce(np.array(taps))
    return result


small = st.integers(1, 3)
pair = st.tuples(small, small)
end = st.tuples(st.integers(0, 2), st.integers(0, 2))
attributes = st.fixed_dictionaries(
    {"window": pair, "stride": pair, "padding": st.tuples(end, end), "dilation": pair}
)
image = TensorType((2, 6, 5, 2), element_type("float64"))
values = np.random.default_rng(1).normal(size=image.sizes)


def admitted(op: Pool2d) -> bool:
    """False if a window does not fit or lies entirely in the padding."""
    try:
        op.infer(image)
    except UserError:
        return False
    return True


@pytest.mark.slow
@given(attributes)
def test_max_of_windows(fields: dict[str, Any]) -> None:
    op = MaxPool2d(**fields)
    assume(admitted(op))
    expected = by_hand(values, op, lambda taps: taps.max(axis=0))
    np.testing.assert_array_equal(op.reference(values), expected)
    assert op.infer(image).shape == expected.shape


@pytest.mark.slow
@given(attributes)
def test_mean_of_windows(fields: dict[str, Any]) -> None:
    op = AvgPool2d(**fields)
    assume(admitted(op))
    expected = by_hand(values, op, lambda taps: taps.mean(axis=0))
    np.testing.assert_allclose(op.reference(values), expected, rtol=1e-12, atol=1e-12)
    every = AvgPool2d(**fields, count_include_pad=True)
    taps = op.window[0] * op.window[1]
    expected = by_hand(values, op, lambda taken: taken.sum(axis=0)) / taps
    np.testing.assert_allclose(every.reference(values), expected, rtol=1e-12, atol=1e-12)


def pools(dtype: str) -> Graph:
    x = O.tensor((2, 7, 6, 3), dtype, name="x")
    odd: dict[str, Any] = {"stride": 1, "padding": ((2, 1), (0, 1))}
    with O.graph(name="pools") as gb:
        O.max_pool2d(x, 2)
        O.max_pool2d(x, (3, 2), **odd)
        O.max_pool2d(x, 2, dilation=3, stride=2, padding="same")
        if dtype in FLOATS:
            O.avg_pool2d(x, 2)
            O.avg_pool2d(x, (3, 2), **odd)
            O.avg_pool2d(x, (3, 2), count_include_pad=True, **odd)
            O.avg_pool2d(x, 2, dilation=3, stride=2, padding="same")
    return gb.graph


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_compiled_code_follows_the_reference(dtype: str) -> None:
    assert len(xtc.compile(pools(dtype)).check()) == (7 if dtype in FLOATS else 3)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_infinity(dtype: str) -> None:
    x_value = np.ones((1, 4, 4, 1), element_type(dtype).numpy)
    x_value[0, 0, 0] = np.nan
    x_value[0, 0, 2:] = x_value[0, 1, 2:] = -np.inf
    x_value[0, 3, 0] = np.inf
    x = O.tensor((1, 4, 4, 1), dtype, name="x")
    with O.graph(name="special") as gb:
        O.max_pool2d(x, 2, name="largest")
        O.avg_pool2d(x, 2, name="mean")
    module, expected = xtc.compile(gb.graph), gb.graph.evaluate(x_value)
    assert np.isnan(expected["largest"][0, 0, 0])
    assert expected["largest"].astype(float).ravel()[1:].tolist() == [-np.inf, np.inf, 1]
    for array, name in zip(module(x_value), expected, strict=True):
        found = np.asarray(array)
        assert found.dtype == x_value.dtype
        np.testing.assert_array_equal(found.astype(float), expected[name].astype(float))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", INTEGERS)
def test_padding_is_never_the_maximum(dtype: str) -> None:
    kind = element_type(dtype).numpy
    low = np.iinfo(kind).min
    x = O.tensor((1, 1, 2, 1), dtype, name="x")
    with O.graph(name="low") as gb:
        O.max_pool2d(x, 2, stride=1, padding=1)
    x_value = np.array([low, low + 1], kind).reshape(1, 1, 2, 1)
    expected = np.array([[low, low + 1, low + 1]] * 2).reshape(1, 2, 3, 1)
    np.testing.assert_array_equal(gb.graph.evaluate(x_value), expected)
    np.testing.assert_array_equal(xtc.compile(gb.graph)(x_value), expected)


def test_attributes_are_canonical() -> None:
    x = O.tensor(("n", 7, 6, 3), name="x")
    with O.graph() as gb:
        O.max_pool2d(x, 3)
        O.avg_pool2d(x, [2, 3], stride=1, padding="same")
    largest, mean = (node.op for node in gb.graph)
    assert largest == MaxPool2d((3, 3), (3, 3))
    assert mean == AvgPool2d((2, 3), (1, 1), ((0, 1), (1, 1)))
    assert [str(node.output.type) for node in gb.graph] == ["nx2x2x3xfloat32", "nx7x6x3xfloat32"]
    assert [loop.name for loop in largest.loops(*gb.graph.nodes[0].input_types)] == list("nhwcrs")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"window": 0}, "window of max_pool2d is 0"),
        ({"window": 9}, "the window of max_pool2d spans 9 of the height, which has 8"),
        ({"window": 2, "stride": 0}, "stride of max_pool2d is 0"),
        ({"window": 2, "dilation": (1, 0)}, "dilation"),
        ({"window": 2, "padding": 2}, "padding of max_pool2d is 2 in height"),
        ({"window": 1, "padding": ((0, 0), (0, 1))}, "padding of max_pool2d is 1 in width"),
        ({"window": (2, 2), "dilation": (1, 9), "padding": (0, 5)}, "its taps are 9 apart"),
    ],
)
def test_refused_attributes(attributes: dict[str, Any], message: str) -> None:
    x = O.tensor((1, 8, 4, 2), name="x")
    with pytest.raises(UserError, match=message), O.graph():
        O.max_pool2d(x, **attributes)


def test_refused_operands() -> None:
    with pytest.raises(UserError, match="avg_pool2d is not defined on int32"), O.graph():
        O.avg_pool2d(O.tensor((1, 8, 4, 2), "int32", name="x"), 2)
    with pytest.raises(UserError, match="max_pool2d is not defined on bool"), O.graph():
        O.max_pool2d(O.tensor((1, 8, 4, 2), "bool", name="x"), 2)
    with pytest.raises(UserError, match="the image of max_pool2d has rank 3"), O.graph():
        O.max_pool2d(O.tensor((8, 4, 2), name="x"), 2)
    with pytest.raises(UserError, match="count_include_pad of avg_pool2d is 1"), O.graph():
        O.avg_pool2d(O.tensor((1, 8, 4, 2), name="x"), 2, count_include_pad=1)


@pytest.mark.parametrize(
    "op",
    [
        MaxPool2d(2, (1, 1)),
        MaxPool2d((2, 2), None),
        MaxPool2d((2,), (1, 1)),
        MaxPool2d((2, 2), (1, 1), 1),
        MaxPool2d((2, 2), (1, 1), dilation="2"),
        AvgPool2d((2, 2), (1, 1), count_include_pad=2),
    ],
)
def test_arbitrary_attributes_of_a_file_are_refused_or_valid(op: Pool2d) -> None:
    with pytest.raises(UserError, match=f"of {op.name}"):
        op.infer(image)
