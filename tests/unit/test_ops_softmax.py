# SPDX-License-Identifier: Apache-2.0
"""softmax: compiled code and NumPy reference against SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.special

import xtc.ops as O
from tests.unit.ops_support import FLOATS, agree, data, exactly, graph_of, result, results
from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES

SHAPES = [(7,), (1,), (3, 5), (5, 1), (2, 3, 4)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_axis(shape: tuple[int, ...], dtype: str) -> None:
    x = data(shape, dtype)
    axes = range(-len(shape), len(shape))
    found = results([lambda x, axis=axis: O.softmax(x, axis=axis) for axis in axes], x)
    for axis, actual in zip(axes, found, strict=True):
        agree(actual, scipy.special.softmax(x.astype(np.float64), axis=axis), shape[axis])


@pytest.mark.parametrize("dtype", FLOATS)
def test_large_numbers_do_not_overflow(dtype: str) -> None:
    x = np.array([[10000, 10000], [-10000, 10000], [30000, -30000]], ELEMENT_TYPES[dtype].numpy)
    exactly(result(O.softmax, x), np.array([[0.5, 0.5], [0, 1], [1, 0]], x.dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values(dtype: str) -> None:
    nan, inf = math.nan, math.inf
    rows = [[0, -inf], [-inf, -inf], [inf, 0], [nan, 0]]
    x = np.array(rows, ELEMENT_TYPES[dtype].numpy)
    exactly(result(O.softmax, x), np.array([[1, 0], [nan, nan], [nan, nan], [nan, nan]], x.dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_are_summed_in_float32(dtype: str) -> None:
    x = np.zeros((4096,), ELEMENT_TYPES[dtype].numpy)  # in half types the sum stalls at 2048 or 256
    exactly(result(O.softmax, x), np.full((4096,), 1 / 4096, x.dtype))


@pytest.mark.parametrize(
    ("x", "axis", "text"),
    [
        (data((2, 3), "float32"), 2, "axis of softmax is 2, but the operand has rank 2"),
        (data((2, 3), "float32"), None, "axis of softmax is None, not an integer"),
        (data((2, 3), "int32"), 0, "softmax is not defined on int32"),
        (np.array(1.0), 0, "axis of softmax is 0, but the operand has rank 0"),
    ],
)
def test_invalid_operands_are_refused(x: np.ndarray[Any, Any], axis: Any, text: str) -> None:
    with pytest.raises(UserError, match=text) as caught:
        graph_of([lambda x: O.softmax(x, axis=axis)], x)
    assert "test_ops_softmax.py" in str(caught.value.where)


def test_loops_and_flops() -> None:
    graph = graph_of([lambda x: O.softmax(x, axis=-2)], data((2, 3), "float32"))
    (node,) = graph.nodes
    assert "axis=0" in str(node)
    assert [loop.name for loop in node.op.loops(*node.input_types)] == ["i", "j"]
    assert node.flops == 5 * 6
    assert graph.reduction_size == 2
