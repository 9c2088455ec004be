# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators: compiled code and NumPy reference against independent formulas."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import xtc.ops as O
from tests.unit.ops_support import (
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

Formula = Callable[[Array], Array]

f32 = functools.partial(np.array, dtype=np.float32)

FUNCTIONS: dict[str, tuple[Write, Formula]] = {
    "exp": (O.exp, lambda x: np.exp2(x / np.log(2))),
    "tanh": (O.tanh, lambda x: 1 - 2 / (np.exp(2 * x) + 1)),
    "sigmoid": (O.sigmoid, scipy.special.expit),
    "gelu": (O.gelu, lambda x: x * scipy.special.ndtr(x)),
    "gelu_tanh": (
        lambda x: O.gelu(x, approximate="tanh"),
        lambda x: x * scipy.special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)),
    ),
    "leaky_relu": (lambda x: O.leaky_relu(x, slope=0.125), lambda x: x * 0.125 ** (x < 0)),
    "relu": (O.relu, lambda x: (x + abs(x)) / 2),
    "relu_threshold": (
        lambda x: O.relu(x, threshold=0.25),
        lambda x: (x + 0.25 + abs(x - 0.25)) / 2,
    ),
    "neg": (O.neg, lambda x: 0 - x),
}
OF_POSITIVE: dict[str, tuple[Write, Formula]] = {
    "log": (O.log, lambda x: np.log1p(x - 1)),
    "sqrt": (O.sqrt, lambda x: x**0.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("table", "least"), [(FUNCTIONS, -4.0), (OF_POSITIVE, 0.05)])
def test_functions(dtype: str, table: dict[str, tuple[Write, Formula]], least: float) -> None:
    x = np.linspace(least, 4, 7 * 9).reshape(7, 9).astype(ELEMENT_TYPES[dtype].numpy)
    found = results([write for write, _ in table.values()], x)
    for actual, (name, (_, formula)) in zip(found, table.items(), strict=True):
        agree(actual, formula(x.astype(np.float64)), name=name)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_special_values(dtype: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 30000, -30000], ELEMENT_TYPES[dtype].numpy)
    writes = {name: write for name, (write, _) in (FUNCTIONS | OF_POSITIVE).items()}
    found = dict(zip(writes, results(list(writes.values()), x), strict=True))
    nan, inf = np.nan, np.inf
    expected = {
        "exp": [nan, inf, 0, 1, 1, inf, 0],
        "tanh": [nan, 1, -1, 0, 0, 1, -1],
        "sigmoid": [nan, 1, 0, 0.5, 0.5, 1, 0],
        "gelu": [nan, inf, nan, 0, 0, 30000, 0],
        "leaky_relu": [nan, inf, -inf, 0, 0, 30000, -3750],
        "relu": [nan, inf, 0, 0, 0, 30000, 0],
        "relu_threshold": [nan, inf, 0.25, 0.25, 0.25, 30000, 0.25],
        "sqrt": [nan, inf, nan, 0, 0, 30000**0.5, nan],
    }
    for name, values in expected.items():
        agree(found[name], np.array(values), name=name)
    assert np.signbit(found["neg"]).tolist()[1:] == [True, False, True, False, True, False]
    assert found["log"][3] == -np.inf
    assert np.isnan(found["log"][2])


ARITHMETIC: dict[str, tuple[Write, Callable[..., Any]]] = {
    "add": (O.add, operator.add),
    "sub": (O.sub, operator.sub),
    "mul": (O.mul, operator.mul),
    "maximum": (O.maximum, max),
    "minimum": (O.minimum, min),
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_arithmetic_is_rounded_once(dtype: str) -> None:
    a, b = data((5, 33), dtype, 1), data((5, 33), dtype, 2)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    # float64 holds enough bits that rounding its results again gives the correctly rounded ones.
    expected = [wide_a + wide_b, wide_a - wide_b, wide_a * wide_b, wide_a / wide_b]
    for actual, value in zip(results([O.add, O.sub, O.mul, O.div], a, b), expected, strict=True):
        exactly(actual, value.astype(a.dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", INTS)
def test_integer_arithmetic_wraps(dtype: str) -> None:
    a, b = data((67,), dtype, 1), data((67,), dtype, 2)
    a[:2] = np.iinfo(dtype).min
    b[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    found = results([write for write, _ in ARITHMETIC.values()], a, b)
    for actual, (_, formula) in zip(found, ARITHMETIC.values(), strict=True):
        exactly(actual, _wrapped(map(formula, a.tolist(), b.tolist()), dtype))
    negative, relu = results([O.neg, O.relu], a)
    exactly(negative, _wrapped((-x for x in a.tolist()), dtype))
    exactly(relu, _wrapped((max(x, 0) for x in a.tolist()), dtype))


def _wrapped(values: Any, dtype: str) -> Array:
    bits = ELEMENT_TYPES[dtype].bits
    half = 1 << (bits - 1)
    return np.array([(value + half) % (1 << bits) - half for value in values], dtype)


def test_maximum_and_minimum_of_bool_are_or_and_and() -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    either, both = results([O.maximum, O.minimum], a, b)
    exactly(either, a | b)
    exactly(both, a & b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_maximum_and_minimum_give_nan_on(dtype: str) -> None:
    a = np.array([np.nan, 1, np.nan, -np.inf, 3], ELEMENT_TYPES[dtype].numpy)
    b = np.array([1, np.nan, np.nan, np.inf, 2], ELEMENT_TYPES[dtype].numpy)
    nan, inf = np.nan, np.inf
    larger, smaller = results([O.maximum, O.minimum], a, b)
    exactly(larger, np.array([nan, nan, nan, inf, 3], a.dtype))
    exactly(smaller, np.array([nan, nan, nan, -inf, 2], a.dtype))


def test_division_by_zero_follows_ieee_754() -> None:
    a, b = f32([1, -1, 0, 1]), f32([0, 0, 0, -0.0])
    exactly(result(O.div, a, b), f32([np.inf, -np.inf, np.nan, -np.inf]))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 5), (5,)),
        ((3, 1), (1, 5)),
        ((1,), (2, 3, 4)),
        ((2, 1, 4), (3, 1)),
        ((), (2, 3)),
        ((), ()),
        ((1, 1), (1, 1)),
        ((1, 7), (1,)),
    ],
)
def test_shapes_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = data(a, "int32", 1), data(b, "int32", 2)
    x, y = np.asarray(x, "int32"), np.asarray(y, "int32")
    exactly(result(O.sub, x, y), np.asarray(x - y))


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "int64"])
def test_a_number_takes_the_element_type_of_the_tensor(dtype: str) -> None:
    x = np.arange(-3, 4).astype(ELEMENT_TYPES[dtype].numpy)
    left, right = results([lambda x: O.sub(5, x), lambda x: O.mul(x, np.int32(-2))], x)
    exactly(left, (5 - np.arange(-3, 4)).astype(x.dtype))
    exactly(right, (-2 * np.arange(-3, 4)).astype(x.dtype))


@pytest.mark.parametrize(
    ("dtype", "number", "text"),
    [
        ("int8", 128, "the number 128 does not fit int8"),
        pytest.param("int8", 10**5000, "number <int of too many digits> does not fit", id="huge"),
        ("int32", 0.5, "the number 0.5 is not int32"),
        ("int32", float("inf"), "the number inf is not int32"),
        ("int32", float("nan"), "the number nan is not int32"),
        ("bool", 2, "the number 2 does not fit bool"),
        ("float16", 1e6, "the number 1000000.0 does not fit float16"),
        pytest.param("float64", 10**400, "10000000.* does not fit float64", id="large"),
        ("float32", "2", "an operand of maximum is str, not a tensor"),
        ("float32", 1j, "an operand of maximum is complex, not a tensor"),
    ],
)
def test_a_number_must_fit(dtype: str, number: Any, text: str) -> None:
    with pytest.raises(UserError, match=text):
        graph_of([lambda x: O.maximum(x, number)], data((3,), dtype))


def test_infinite_numbers_stay_infinite() -> None:
    x = f32([1, np.inf, -np.inf])
    exactly(result(lambda x: O.minimum(float("inf"), x), x), x)


@pytest.mark.parametrize("dtype", ["float16", "int8", "bool"])
def test_where(dtype: str) -> None:
    condition, a, b = data((3, 1), "bool", 3), data((1, 4), dtype, 1), data((2, 1, 1), dtype, 2)
    exactly(result(O.where, condition, a, b), np.choose(condition, [b, a]))


@pytest.mark.slow
def test_where_takes_a_number_on_either_side() -> None:
    condition, x = np.array([True, False]), f32([3, 4])
    left, right = results(
        [lambda c, x: O.where(c, x, 0), lambda c, x: O.where(c, -0.5, x)], condition, x
    )
    exactly(left, f32([3, 0]))
    exactly(right, f32([-0.5, 4]))


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda x, i, c: O.add(x, i), "operands of add have different element types"),
        (lambda x, i, c: O.add(c, c), "add is not defined on bool"),
        (lambda x, i, c: O.neg(c), "neg is not defined on bool"),
        (lambda x, i, c: O.relu(c), "relu is not defined on bool"),
        (lambda x, i, c: O.div(i, i), "div is not defined on int32"),
        (lambda x, i, c: O.exp(i), "exp is not defined on int32"),
        (lambda x, i, c: O.sigmoid(c), "sigmoid is not defined on bool"),
        (lambda x, i, c: O.mul(x, O.tensor((2,))), r"shapes \(3,\) and \(2,\) of mul do not"),
        (lambda x, i, c: O.mul(2.0, 3.0), "an operand of mul is float, not a tensor"),
        (lambda x, i, c: U.relu(x, threshold="1"), "threshold of relu is '1', not a number"),
        (lambda x, i, c: U.relu(i, threshold=0.5), "threshold of relu=0.5 is not a whole number"),
        (lambda x, i, c: U.leaky_relu(x, slope="1"), "slope of leaky_relu is '1', not a number"),
        (lambda x, i, c: O.leaky_relu(x, slope=np.nan), "slope of leaky_relu is nan, not a finite"),
        (lambda x, i, c: O.leaky_relu(x, slope=1e39), "slope of leaky_relu is 1e[+]39, too large"),
        (lambda x, i, c: O.gelu(x, approximate="tan"), "approximate of gelu is 'tan'"),
        (lambda x, i, c: O.where(x, x, x), "the condition of where is float32, not bool"),
        (lambda x, i, c: O.where(c, x, i), "operands of where have different element types"),
        (lambda x, i, c: O.where(c, 1.0, 2.0), "neither a nor b of where is a tensor"),
    ],
)
def test_invalid_operands_are_refused_at_the_users_line(write: Write, text: str) -> None:
    arrays = [data((3,), dtype) for dtype in ("float32", "int32", "bool")]
    with pytest.raises(UserError, match=text) as caught:
        graph_of([write], *arrays)
    assert "test_ops_elementwise.py" in str(caught.value.where)


def test_the_first_dimension_may_be_symbolic() -> None:
    x = O.tensor(("n", 3), name="x")
    with O.graph() as gb:
        O.outputs(O.gelu(O.add(x, O.tensor((3,), name="bias"))))
    assert gb.graph.outputs[0].shape == ("n", 3)
    assert gb.graph.bind(n=4).outputs[0].shape == (4, 3)
    with pytest.raises(UserError, match="do not broadcast"), O.graph():
        O.add(x, O.tensor((4, 3), name="y"))


def test_flops_count_the_formula() -> None:
    x = data((4, 8), "float32")
    graph = graph_of([O.exp, O.sigmoid, lambda x: O.cast(x, "bool"), lambda x: O.add(x, 1)], x)
    assert [node.flops for node in graph] == [32, 4 * 32, 0, 32]
