# SPDX-License-Identifier: Apache-2.0
"""layer_norm: compiled code and NumPy reference against formulas on Python numbers."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.ops_support import FLOATS, Array, Write, agree, data, graph_of, result, results
from tests.unit.ops_support import UNTYPED as U
from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES


def normalized(x: Array, axis: int, eps: float) -> Array:
    rows = x.astype(np.float64).reshape(*x.shape[: axis % x.ndim], -1)
    flat = rows.reshape(-1, rows.shape[-1])
    found: list[Array] = [
        (row - statistics.fmean(row)) / (statistics.pvariance(row.tolist()) + eps) ** 0.5
        for row in flat
    ]
    return np.reshape(np.stack(found), x.shape)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [-1, -2, 0, 1])
def test_every_axis_with_and_without_parameters(axis: int, dtype: str) -> None:
    x = data((3, 5, 7), dtype)
    gamma, beta = data(x.shape[axis:], dtype, 1), data(x.shape[axis:], dtype, 2)
    found = results(
        [
            lambda x, g, b: O.layer_norm(x, axis=axis, eps=0.01),
            lambda x, g, b: O.layer_norm(x, g, axis=axis, eps=0.01),
            lambda x, g, b: O.layer_norm(x, beta=b, axis=axis, eps=0.01),
            lambda x, g, b: O.layer_norm(x, g, b, axis=axis, eps=0.01),
        ],
        *(x, gamma, beta),
    )
    y, g, b = normalized(x, axis, 0.01), gamma.astype(np.float64), beta.astype(np.float64)
    for actual, expected in zip(found, [y, y * g, y + b, y * g + b], strict=True):
        agree(actual, expected, x.size)


def test_a_large_mean_does_not_cancel_the_variance() -> None:
    x = (1024 + data((4, 64), "float32")).astype(np.float32)
    with xtc.compile(graph_of([lambda x: O.layer_norm(x, eps=0.0)], x), in_memory=True) as module:
        errors = abs(module(x) - normalized(x, -1, 0.0))
    assert errors.max() < 0.01  # mean(x * x) - mean(x) ** 2 would be wrong by a tenth or more


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_are_summed_in_float32(dtype: str) -> None:
    x = np.tile(np.array([100, 102], ELEMENT_TYPES[dtype].numpy), 4096)
    found = result(lambda x: O.layer_norm(x, eps=0.0), x)
    assert np.array_equal(found, np.tile(np.array([-1, 1], x.dtype), 4096))


@pytest.mark.slow
def test_equal_elements_give_zero_and_without_eps_nan() -> None:
    x = np.full((2, 4), 3, np.float32)
    with_eps, without = results([O.layer_norm, lambda x: O.layer_norm(x, eps=0)], x)
    assert np.all(with_eps == 0)
    assert np.all(np.isnan(without))


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda x, g, i: O.layer_norm(i), "layer_norm is not defined on int32"),
        (lambda x, g, i: O.layer_norm(x, i), "operands of layer_norm have different element types"),
        (lambda x, g, i: O.layer_norm(x, g, axis=0), r"gamma of layer_norm has shape \(4,\), not"),
        (lambda x, g, i: O.layer_norm(x, beta=x), r"beta of layer_norm has shape \(3, 4\), not"),
        (lambda x, g, i: O.layer_norm(x, eps=-1), "eps of layer_norm is -1, less than 0"),
        (lambda x, g, i: O.layer_norm(x, eps=1e39), "eps of layer_norm is 1e[+]39, too large for"),
        (lambda x, g, i: O.layer_norm(x, axis=2), "axis of layer_norm is 2, but"),
        (lambda x, g, i: U.layer_norm(x, 1.0), r"gamma of layer_norm has shape \(\), not"),
    ],
)
def test_invalid_operands_are_refused(write: Write, text: str) -> None:
    arrays: list[Any] = [data((3, 4), "float32"), data((4,), "float32"), data((4,), "int32")]
    with pytest.raises(UserError, match=text) as caught:
        graph_of([write], *arrays)
    assert "test_ops_layer_norm.py" in str(caught.value.where)


def test_the_first_dimension_may_be_symbolic() -> None:
    x, gamma = O.tensor(("n", 3), name="x"), O.tensor((3,), name="gamma")
    with O.graph() as gb:
        O.layer_norm(x, gamma, axis=1)
    assert gb.graph.outputs[0].shape == ("n", 3)
    with pytest.raises(UserError, match="'n', 3"), O.graph():
        O.layer_norm(x, gamma, axis=0)
