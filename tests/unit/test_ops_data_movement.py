# SPDX-License-Identifier: Apache-2.0
"""pad, unpad, reshape, transpose, concat and slice only move elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES, TensorType, element_type
from xtc.graph.graph import Graph
from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.ops.concat import Concat
from xtc.ops.pad import Pad
from xtc.ops.reshape import Reshape
from xtc.ops.slice import Slice
from xtc.ops.transpose import Transpose
from xtc.ops.unpad import Unpad


def moves(dtype: str) -> Graph:
    """Every operator, odd sizes, sizes of one and rank 0 included."""
    x = O.tensor((2, 5, 3), dtype, name="x")
    y = O.tensor((2, 1, 3), dtype, name="y")
    single = O.tensor((1, 1), dtype, name="one")
    with O.graph(name="moves") as gb:
        O.pad(x, (0, (1, 2), (3, 0)), value=1)
        O.pad(x, (0, 0, 0))
        O.unpad(x, ((1, 0), 2, (0, 1)))
        O.reshape(x, (-1, 2))
        O.reshape(x, (2, 1, 5, 3))
        O.reshape(O.reshape(single, ()), (1, 1, 1))
        O.transpose(x)
        O.transpose(x, (1, 0, 2))
        O.transpose(x, (0, 1, 2))
        O.transpose(O.reshape(single, ()))
        O.concat(x, y, x, axis=1)
        O.concat(y, y)
        O.slice(x, (1, None, -1), (None, -1, None), (1, 2, 1))
        O.slice(O.reshape(x, 30), (-30,), (99,), (29,))
        O.reshape(O.slice(x, (0, 1, 0), (2, 3, 2)), -1)
    return gb.graph


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_compiled_code_follows_the_reference(dtype: str) -> None:
    assert len(xtc.compile(moves(dtype)).check(rtol=0, atol=0)) == 15


def test_nothing_is_computed() -> None:
    graph = moves("float32")
    assert graph.flops == 0
    loops = {loop.name for node in graph for loop in node.op.loops(*node.input_types)}
    assert loops == {"i", "j", "k"}


def written(function: Callable[[Tensor], Tensor], shape: tuple[Any, ...]) -> Operator:
    """The operator that `function` makes of an input of that shape."""
    x = O.tensor(shape, name="x")
    with O.graph() as gb:
        function(x)
    return gb.graph.nodes[-1].op


def test_attributes_are_canonical() -> None:
    assert written(lambda x: O.pad(x, [1, (0, 2)], value=1), (2, 3)) == Pad(((1, 1), (0, 2)), 1.0)
    assert written(lambda x: O.unpad(x, (0, (0, 2))), (2, 3)) == Unpad(((0, 0), (0, 2)))
    assert written(lambda x: O.pad(x, 2), (2, 3)) == Pad(((2, 2), (2, 2)))
    assert written(lambda x: O.unpad(x, 1), (3, 4)) == Unpad(((1, 1), (1, 1)))
    assert written(lambda x: O.pad(x, {-1: 2, 0: (0, 1)}), (2, 3)) == Pad(((0, 1), (2, 2)))
    assert written(lambda x: O.reshape(x, [-1, 2]), (2, 3)) == Reshape((3, 2))
    assert written(lambda x: O.transpose(x, (-1, 0)), (2, 3)) == Transpose((1, 0))
    assert written(lambda x: O.concat(x, x, axis=-1), (2, 3)) == Concat(1)
    made = written(lambda x: O.slice(x, (-9, None), (-1, None)), (4, 3))
    assert made == Slice((0, 0), (3, 3), (1, 1))


@pytest.mark.parametrize(
    ("shape", "canonical"),
    [
        (("n", 12), (-1, 12)),
        (("n", -1), (-1, 12)),
        ((-1, 12), (-1, 12)),
        (["n", 2, -1], (-1, 2, 6)),
    ],
)
def test_a_symbolic_dimension_stays_first(shape: Any, canonical: tuple[int, ...]) -> None:
    op = written(lambda x: O.reshape(x, shape), ("n", 3, 4))
    assert op == Reshape(canonical)
    float32 = element_type("float32")
    symbolic, known = (TensorType((n, 3, 4), float32) for n in ("n", 5))
    assert op.infer(symbolic).shape == ("n", *canonical[1:])
    assert op.infer(known).shape == (5, *canonical[1:])


@pytest.mark.slow
def test_a_symbolic_dimension_is_carried_through() -> None:
    x = O.tensor(("n", 3, 4), name="x")
    with O.graph() as gb:
        O.pad(x, (0, 1, 0))
        O.unpad(x, (0, 1, 0))
        O.transpose(x, (0, 2, 1))
        O.concat(x, x, axis=1)
        O.slice(x, (None, 1, 0), (None, None, 4), (None, 1, 2))
    shapes = [(3, 5, 4), (3, 1, 4), (3, 4, 3), (3, 6, 4), (3, 2, 2)]
    assert [node.output.shape for node in gb.graph] == [("n", *shape[1:]) for shape in shapes]
    assert [node.output.shape for node in gb.graph.bind(n=3)] == shapes
    xtc.compile(gb.graph, dims={"n": 2}).check(rtol=0, atol=0)


bound = st.none() | st.integers(-7, 7)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 5), bound, bound, st.integers(1, 3)), max_size=3))
def test_slice_follows_python(places: list[tuple[int, int | None, int | None, int]]) -> None:
    x = np.arange(math.prod(size for size, *_ in places)).reshape([size for size, *_ in places])
    expected = x[tuple(slice(*place) for _, *place in places)]
    starts, stops, steps = ([place[column] for place in places] for column in (1, 2, 3))
    if expected.size == 0:
        with pytest.raises(UserError, match="takes nothing"):
            written(lambda t: O.slice(t, starts, stops, steps), x.shape)
        return
    op = written(lambda t: O.slice(t, starts, stops, steps), x.shape)
    np.testing.assert_array_equal(op.reference(x), expected)
    assert op.infer(TensorType(x.shape, element_type("int64"))).shape == expected.shape


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(0, 3)), max_size=3))
@pytest.mark.slow
def test_unpad_undoes_pad(places: list[tuple[int, int, int]]) -> None:
    border = tuple((before, after) for _, before, after in places)
    x = np.arange(math.prod(size for size, _, _ in places)).reshape([size for size, _, _ in places])
    padded = Pad(border, 7).reference(x)
    assert padded.shape == Pad(border, 7).infer(TensorType(x.shape, element_type("int64"))).shape
    assert (padded == 7).sum() == padded.size - x.size + (x == 7).sum()
    np.testing.assert_array_equal(Unpad(border).reference(padded), x)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, -0.0, 1e-5, 3e4])
def test_pad_value(dtype: str, value: float) -> None:
    x = O.tensor((1,), dtype, name="x")
    with O.graph(name="special") as gb:
        O.pad(x, ((0, 1),), value=value)
    array = np.ones(1, element_type(dtype).numpy)
    expected = np.array([1, value], array.dtype)
    for result in (gb.graph.evaluate(array), np.asarray(xtc.compile(gb.graph)(array))):
        assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("int8", 128, "value of pad is 128, which int8 does not hold"),
        ("int8", -129, "int8 does not hold"),
        ("int32", 0.5, "int32 does not hold"),
        ("int32", math.nan, "int32 does not hold"),
        ("int64", math.inf, "int64 does not hold"),
        ("bool", 2, "bool does not hold"),
        ("float16", 1e6, "float16 does not hold"),
        ("float32", 10**400, "float32 does not hold"),
        ("float32", "0", "value of pad is '0', not a number"),
        ("float32", None, "not a number"),
    ],
)
def test_refused_pad_value(dtype: str, value: Any, message: str) -> None:
    x = O.tensor((2,), dtype, name="x")
    with pytest.raises(UserError, match=message), O.graph():
        O.pad(x, ((1, 1),), value=value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: O.pad(x, ((1, 1),)), "padding of pad has 1 entries"),
        (lambda x: O.pad(x, ((1, -1), 0)), r"padding\[0\]\[1\] of pad is -1"),
        (lambda x: O.pad(x, (2**31 - 1, 2**31 - 1)), "larger than 1 TiB"),
        (lambda x: O.pad([1.0], ((1, 1),)), "an operand of pad is list"),
        (lambda x: O.unpad(x, ((1, 1), 0)), "leaves nothing of dimension 0 of size 2"),
        (lambda x: O.unpad(x, True), "padding of unpad is True"),
        (lambda x: O.unpad(x, {0: 0, -2: 0}), "padding of unpad names dimension 0 twice"),
        (lambda x: O.pad(x, {2: 1}), "a key of padding of pad is 2, but the operand has rank 2"),
        (lambda x: O.reshape(x, (4, 2)), "has 6 elements"),
        (lambda x: O.reshape(x, (-1, 4)), "has 6 elements"),
        (lambda x: O.reshape(x, (-1, -1)), "at most one is -1"),
        (lambda x: O.reshape(x, (0, 6)), "at most one is -1"),
        (lambda x: O.reshape(x, (-2, 3)), "less than -1"),
        (lambda x: O.reshape(x, ("n", 6)), "starts with 'n'"),
        (lambda x: O.reshape(x, 6.0), "shape of reshape is 6.0"),
        (lambda x: O.reshape(x, "6"), "starts with|not a sequence"),
        (lambda x: O.transpose(x, (0, 0)), "names an axis twice"),
        (lambda x: O.transpose(x, (0,)), "axes of transpose"),
        (lambda x: O.transpose(x, (0, 2)), r"axes of transpose is 2, but the operand has rank 2"),
        (lambda x: O.concat(), "two or more operands, not 0"),
        (lambda x: O.concat(x), "two or more operands, not 1"),
        (lambda x: O.concat(x, x, axis=2), "axis of concat is 2"),
        (lambda x: O.concat(x, O.tensor((2,), name="y")), "operand 1 of concat has rank 1"),
        (lambda x: O.concat(x, O.tensor((2, 3), "int8", name="y")), "different element types"),
        (lambda x: O.slice(x, (0,), (1,)), "starts of slice has 1 entries"),
        (lambda x: O.slice(x, (0, 0), 1), "stops of slice is 1"),
        (lambda x: O.slice(x, (0, 0), (1, 1.5)), r"stops\[1\] of slice is 1.5"),
        (lambda x: O.slice(x, None, None, (1, -1)), r"steps\[1\] of slice is -1"),
        (lambda x: O.slice(x, (2, 0), (2, 3)), "takes nothing of dimension 0"),
    ],
)
def test_refusals(function: Callable[[Any], Any], message: str) -> None:
    x = O.tensor((2, 3), name="x")
    with pytest.raises(UserError, match=message) as caught, O.graph():
        function(x)
    assert "test_ops_data_movement.py" in str(caught.value.where)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: O.pad(x, (1, 0)), "dimension 'n' is symbolic"),
        (lambda x: O.unpad(x, (1, 0)), "dimension 'n' is symbolic"),
        (lambda x: O.reshape(x, (3, -1)), "shape of reshape"),
        (lambda x: O.reshape(x, ("n", 4)), "shape of reshape"),
        (lambda x: O.reshape(x, ("m", 3)), "starts with 'm'"),
        (lambda x: O.reshape(x, -1), "shape of reshape"),
        (lambda x: O.transpose(x), "axes of transpose"),
        (lambda x: O.concat(x, x), "dimension 'n' is symbolic"),
        (lambda x: O.slice(x, (1, 0), (None, None)), "can only be taken whole"),
        (lambda x: O.slice(x, (0, 0), (1, 1)), "can only be taken whole"),
    ],
)
def test_refusals_of_a_symbolic_dimension(function: Callable[[Any], Any], message: str) -> None:
    x = O.tensor(("n", 3), name="x")
    with pytest.raises(UserError, match=message), O.graph():
        function(x)


@pytest.mark.parametrize(
    "op",
    [
        Pad(1),
        Pad(((1, 1), 1)),
        Pad(((1, 1), (1, "1"))),
        Pad(((1, 1), (1, 1)), "x"),
        Pad(((1, 1), (1, 1)), (1,)),
        Unpad(None),
        Unpad(((0, 0), (-1, 0))),
        Reshape("23"),
        Reshape((2, 3.0)),
        Reshape((0,)),
        Transpose(None),
        Transpose((-1, 0)),
        Transpose((0, "1")),
        Slice((0,), (1,), (1,)),
        Slice((0, 0), (2, 9), (1, 1)),
        Slice((-1, 0), (2, 3), (1, 1)),
        Slice((0, 0), (2, "3"), (1, 1)),
        Slice((0, 0), 3, (1, 1)),
        Slice((0, 0), (2, 3), None),
        Slice((0, 0), (2, 3), (1, 0)),
    ],
)
def test_arbitrary_attributes_of_a_file_are_refused_or_valid(op: Operator) -> None:
    with pytest.raises(UserError, match=f"of {op.name}"):
        op.infer(TensorType((2, 3), element_type("float32")))


@pytest.mark.parametrize("axis", [-1, 2, None, "0", 0.0, True])
def test_an_arbitrary_axis_of_a_file_is_refused_or_valid(axis: Any) -> None:
    type = TensorType((2, 3), element_type("float32"))
    with pytest.raises(UserError, match="axis of concat"):
        Concat(axis).infer(type, type)


def test_concatenations_with_an_equal_first_operand_are_distinguished() -> None:
    def joined(x: Tensor) -> tuple[Tensor, Tensor]:
        y = O.relu(x)
        return O.concat(y, y, axis=2), O.concat(y, x, axis=2)

    x = np.random.default_rng(0).standard_normal((4, 8, 1, 4)).astype(np.float32)
    with O.graph() as gb:
        O.outputs(*joined(O.tensor(x.shape, name="x")))
    with xtc.compile(gb.graph, in_memory=True) as module:
        first, second = module(x)
    positive = np.maximum(x, 0)
    np.testing.assert_array_equal(first, np.concatenate([positive, positive], 2))
    np.testing.assert_array_equal(second, np.concatenate([positive, x], 2))
