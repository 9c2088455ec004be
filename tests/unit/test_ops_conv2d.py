# SPDX-License-Identifier: Apache-2.0
"""conv2d: its reference against SciPy's correlation, its types, and compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.core.types import TensorType, element_type
from xtc.graph.graph import Graph
from xtc.ops.conv2d import Conv2d

NUMBERS = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64"]

Array = np.ndarray[Any, Any]


def correlation(x: Array, w: Array, op: Conv2d) -> Array:
    """SciPy's correlation of every image with every filter, positions between strides dropped."""
    from scipy import signal  # importing SciPy takes longer than most tests

    (r, s, part, filters), (dr, ds), (sr, ss) = w.shape, op.dilation, op.stride
    spread = np.zeros(((r - 1) * dr + 1, (s - 1) * ds + 1, part, filters), w.dtype)
    spread[::dr, ::ds] = w
    padded = np.pad(x, ((0, 0), *op.padding, (0, 0)))
    each = filters // op.groups
    parts = [padded[..., f // each * part :][..., :part] for f in range(filters)]
    planes = [
        [
            signal.correlate(image, spread[..., f], "valid", method="direct")[::sr, ::ss, 0]
            for f, image in enumerate(images)
        ]
        for images in zip(*parts, strict=True)
    ]
    return np.moveaxis(np.array(planes), 1, -1)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[Conv2d, tuple[int, ...], tuple[int, ...]]:
    small = st.integers(1, 3)
    groups, part, each = draw(small), draw(small), draw(small)
    op = Conv2d(
        stride=draw(st.tuples(small, small)),
        padding=draw(st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * 2)),
        dilation=draw(st.tuples(small, small)),
        groups=groups,
    )
    h, w = draw(st.integers(7, 9)), draw(st.integers(7, 9))
    x_shape = (draw(st.integers(1, 2)), h, w, groups * part)
    return op, x_shape, (draw(small), draw(small), part, groups * each)


@pytest.mark.slow
@given(convolutions())
def test_reference_is_correlation(case: tuple[Conv2d, tuple[int, ...], tuple[int, ...]]) -> None:
    op, x_shape, w_shape = case
    random = np.random.default_rng(0)
    x, w = (random.integers(-9, 9, shape).astype(np.int64) for shape in (x_shape, w_shape))
    found = op.reference(x, w)
    np.testing.assert_array_equal(found, correlation(x, w, op))
    int64 = element_type("int64")
    assert op.infer(TensorType(x_shape, int64), TensorType(w_shape, int64)).shape == found.shape


def variants(dtype: str) -> Graph:
    """One graph with each form of convolution, an output each."""
    x = O.tensor((2, 7, 6, 4), dtype, name="x")
    shapes = {
        "plain": (3, 2, 4, 5),
        "pointwise": (1, 1, 4, 3),
        "grouped": (3, 2, 2, 6),
        "depthwise": (3, 2, 1, 4),
        "multiplied": (3, 2, 1, 8),
    }
    w = {name: O.tensor(shape, dtype, name=f"w_{name}") for name, shape in shapes.items()}
    with O.graph(name="variants") as gb:
        O.conv2d(x, w["plain"])
        O.conv2d(x, w["plain"], stride=(2, 3), padding=((1, 2), (0, 3)), dilation=(2, 1))
        O.conv2d(x, w["pointwise"], stride=2)
        O.conv2d(x, w["grouped"], groups=2, padding="same", stride=2)
        O.conv2d(x, w["depthwise"], groups=4, padding=(3, 1), stride=(3, 1))
        O.conv2d(x, w["multiplied"], groups=4, dilation=(1, 2))
    return gb.graph


@pytest.mark.slow
@pytest.mark.parametrize("dtype", NUMBERS)
def test_compiled_code_follows_the_reference(dtype: str) -> None:
    assert len(xtc.compile(variants(dtype)).check()) == 6


def test_sizes_of_one() -> None:
    x, w = O.tensor((1, 1, 1, 1), name="x"), O.tensor((1, 1, 1, 1), name="w")
    with O.graph(name="ones") as gb:
        O.conv2d(x, w)
    result = xtc.compile(gb.graph)(np.full((1, 1, 1, 1), 3, "f"), np.full((1, 1, 1, 1), 5, "f"))
    assert np.asarray(result).item() == 15


def test_integers_wrap() -> None:
    x, w = O.tensor((1, 3, 3, 2), "int32", name="x"), O.tensor((2, 2, 2, 2), "int32", name="w")
    with O.graph(name="wrap") as gb:
        O.conv2d(x, w)
    x_value = np.full((1, 3, 3, 2), 2**30 + 1, np.int32)
    w_value = np.full((2, 2, 2, 2), 3, np.int32)
    wrapped = np.full((1, 2, 2, 2), 24 * (2**30 + 1)).astype(np.int32)
    np.testing.assert_array_equal(gb.graph.evaluate(x_value, w_value), wrapped)
    np.testing.assert_array_equal(xtc.compile(gb.graph)(x_value, w_value), wrapped)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.slow
def test_halves_are_summed_in_float32(dtype: str) -> None:
    """4096 + 1 is 4096 in both half types, so a sum in them would lose every 1."""
    kind = element_type(dtype).numpy
    x, w = O.tensor((1, 1, 1, 17), dtype, name="x"), O.tensor((1, 1, 17, 1), dtype, name="w")
    with O.graph(name="halves") as gb:
        O.conv2d(x, w)
    x_value = np.ones((1, 1, 1, 17), kind)
    x_value[..., 0] = 4096
    w_value = np.ones((1, 1, 17, 1), kind)
    exact = np.asarray(4112).astype(kind)
    assert gb.graph.evaluate(x_value, w_value).item() == exact
    assert np.asarray(xtc.compile(gb.graph)(x_value, w_value)).item() == exact


def test_types() -> None:
    def shape(dtype: str) -> str:
        x = TensorType(("n", 8, 9, 3), element_type(dtype))
        w = TensorType((3, 3, 3, 4), element_type(dtype))
        return str(Conv2d((1, 2), ((1, 1), (1, 1))).infer(x, w))

    assert shape("float16") == "nx8x5x4xfloat16"
    assert shape("int8") == "nx8x5x4xint32"
    assert shape("int64") == "nx8x5x4xint64"


def test_flops_and_loops() -> None:
    graph = variants("float32")
    plain, grouped = graph.nodes[0], graph.nodes[3]
    assert plain.flops == 2 * (2 * 5 * 5 * 5) * (3 * 2 * 4)
    assert grouped.flops == 2 * (2 * 4 * 3 * 6) * (3 * 2 * 2)
    names = [[loop.name for loop in node.op.loops(*node.input_types)] for node in graph.nodes]
    assert names == [
        ["n", "h", "w", "f", "r", "s", "c"],
        ["n", "h", "w", "f", "r", "s", "c"],
        ["n", "h", "w", "f", "r", "s", "c"],
        ["n", "h", "w", "g", "f", "r", "s", "c"],
        ["n", "h", "w", "c", "r", "s"],
        ["n", "h", "w", "c", "m", "r", "s"],
    ]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"stride": 0}, "stride of conv2d is 0"),
        ({"stride": (1, 2, 3)}, "stride of conv2d"),
        ({"stride": 2**40}, "stride of conv2d"),
        ({"dilation": -1}, "dilation of conv2d is -1"),
        ({"dilation": 1.0}, "dilation of conv2d"),
        ({"padding": -1}, "padding of conv2d is -1"),
        ({"padding": "full"}, "padding of conv2d is 'full'"),
        ({"padding": 2**31 - 1}, "larger than 1 TiB"),
        ({"groups": 0}, "groups of conv2d is 0"),
        ({"groups": 3}, "does not divide 4 channels"),
        ({"groups": 4}, "does not divide 6 filters"),
        ({"groups": 2}, "have 4 channels"),
        ({"dilation": 4}, "the window of conv2d spans 9 of the height, which has 8"),
    ],
)
def test_refused_attributes(attributes: dict[str, Any], message: str) -> None:
    x, w = O.tensor((1, 8, 8, 4), name="x"), O.tensor((3, 3, 4, 6), name="w")
    with pytest.raises(UserError, match=message) as caught, O.graph():
        O.conv2d(x, w, **attributes)
    assert "test_ops_conv2d.py" in str(caught.value.where)


@pytest.mark.parametrize(
    ("x", "w", "message"),
    [
        (((8, 8, 4), "float32"), ((3, 3, 4, 6), "float32"), "image of conv2d has rank 3"),
        (((1, 8, 8, 4), "float32"), ((3, 3, 4), "float32"), "filters of conv2d have rank 3"),
        (((1, 8, 8, 4), "float32"), (("r", 3, 4, 6), "float32"), "symbolic height 'r'"),
        (((1, 8, 8, 4), "float32"), ((3, 3, 4, 6), "float16"), "different element types"),
        (((1, 8, 8, 4), "bool"), ((3, 3, 4, 6), "bool"), "not defined on bool"),
    ],
)
def test_refused_operands(x: tuple[Any, str], w: tuple[Any, str], message: str) -> None:
    operands = O.tensor(*x, name="x"), O.tensor(*w, name="w")
    with pytest.raises(UserError, match=message), O.graph():
        O.conv2d(*operands)


@pytest.mark.parametrize(
    "op",
    [
        Conv2d(stride=2),
        Conv2d(stride=(1,)),
        Conv2d(stride=(0, 1)),
        Conv2d(stride=("1", 1)),
        Conv2d(padding=1),
        Conv2d(padding=((1, 1), 1)),
        Conv2d(padding=((1, -1), (0, 0))),
        Conv2d(padding="same"),
        Conv2d(dilation=None),
        Conv2d(groups="1"),
        Conv2d(groups=0),
    ],
)
def test_arbitrary_attributes_of_a_file_are_refused_or_valid(op: Conv2d) -> None:
    float32 = element_type("float32")
    with pytest.raises(UserError, match="of conv2d"):
        op.infer(TensorType((1, 8, 8, 4), float32), TensorType((3, 3, 4, 6), float32))
