# SPDX-License-Identifier: Apache-2.0
"""gemv: its reference, its types, and compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.core.types import TensorType, element_type
from xtc.graph.graph import Graph
from xtc.ops.gemv import Gemv

NUMBERS = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64"]


def both(dtype: str, rows: int, depth: int) -> Graph:
    a = O.tensor((rows, depth), dtype, name="a")
    x, y = O.tensor((depth,), dtype, name="x"), O.tensor((rows,), dtype, name="y")
    with O.graph(name="both") as gb:
        O.gemv(a, x)
        O.gemv(a, y, transpose=True)
    return gb.graph


def test_reference_is_a_sum_of_products() -> None:
    random = np.random.default_rng(0)
    a, x, y = (random.normal(size=shape) for shape in ((3, 5), 5, 3))
    expected = [sum(a[i, k] * x[k] for k in range(5)) for i in range(3)]
    np.testing.assert_allclose(Gemv().reference(a, x), expected)
    expected = [sum(a[k, i] * y[k] for k in range(3)) for i in range(5)]
    np.testing.assert_allclose(Gemv(transpose=True).reference(a, y), expected)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", NUMBERS)
def test_compiled_code_follows_the_reference(dtype: str) -> None:
    assert len(xtc.compile(both(dtype, 7, 5)).check()) == 2
    assert len(xtc.compile(both(dtype, 1, 1)).check()) == 2


def test_types_and_cost() -> None:
    graph = both("int8", 3, 5)
    assert [str(node.output.type) for node in graph] == ["3xint32", "5xint32"]
    assert graph.nodes[0].flops == graph.nodes[1].flops == 30
    assert [node.op.reduction_size(*node.input_types) for node in graph] == [5, 3]
    half = element_type("float16")
    symbolic = TensorType(("n", 4), half)
    assert str(Gemv().infer(symbolic, TensorType((4,), half))) == "nxfloat16"
    assert str(Gemv(True).infer(symbolic, TensorType(("n",), half))) == "4xfloat16"


@pytest.mark.parametrize(
    ("a", "x", "message"),
    [
        (((3, 4), "float32"), ((3,), "float32"), "K of gemv is 4 in the matrix but 3 in x"),
        (((3, 4), "float32"), ((4, 1), "float32"), "second operand of gemv has rank 2, not 1"),
        (((3,), "float32"), ((3,), "float32"), "first operand of gemv has rank 1, not 2"),
        (((3, 4), "float32"), ((4,), "float64"), "different element types"),
        (((3, 4), "bool"), ((4,), "bool"), "not defined on bool"),
        ((("n", 4), "float32"), (("m",), "float32"), "K of gemv is 4"),
    ],
)
def test_refused_operands(a: tuple[Any, str], x: tuple[Any, str], message: str) -> None:
    operands = O.tensor(*a, name="a"), O.tensor(*x, name="x")
    with pytest.raises(UserError, match=message), O.graph():
        O.gemv(*operands)


def test_refused_attribute() -> None:
    with pytest.raises(UserError, match="transpose of gemv is 'yes'"), O.graph():
        O.gemv(O.tensor((3, 4), name="a"), O.tensor((4,), name="x"), transpose="yes")
    float32 = element_type("float32")
    with pytest.raises(UserError, match="transpose of gemv is 3"):
        Gemv(3).infer(TensorType((3, 4), float32), TensorType((4,), float32))
