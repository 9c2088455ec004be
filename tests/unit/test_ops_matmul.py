# SPDX-License-Identifier: Apache-2.0
"""matmul: compiled code and NumPy reference against einsum in exact or wider arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

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
)
from tests.unit.ops_support import UNTYPED as U
from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES

Shape = tuple[int, ...]
SHAPES: list[tuple[Shape, Shape]] = [
    ((3, 5), (5, 7)),
    ((1, 1), (1, 1)),
    ((1, 9), (9, 1)),
    ((4, 1), (1, 3)),
    ((2, 3, 5), (2, 5, 4)),
    ((2, 3, 5), (5, 4)),
    ((3, 5), (2, 5, 4)),
    ((1, 3, 5), (2, 5, 4)),
    ((2, 1, 3, 5), (4, 5, 2)),
    ((2, 3, 2, 5), (2, 1, 5, 2)),
    ((1, 1, 2, 5), (1, 5, 2)),
]


def transposed(array: Array, flag: bool) -> Array:
    return np.ascontiguousarray(array.swapaxes(-1, -2)) if flag else array


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("a_shape", "b_shape"), SHAPES)
def test_shapes(a_shape: Shape, b_shape: Shape, flags: tuple[bool, bool]) -> None:
    a, b = data(a_shape, "int32", 1) >> 20, data(b_shape, "int32", 2) >> 20
    found = result(
        lambda a, b: O.matmul(a, b, transpose_a=flags[0], transpose_b=flags[1]),
        transposed(a, flags[0]),
        transposed(b, flags[1]),
    )
    exactly(found, np.einsum("...ik,...kj->...ij", a, b))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("a_shape", "b_shape"), [((5, 33), (33, 6)), ((2, 1, 3, 9), (2, 9, 5))])
def test_floats(a_shape: Shape, b_shape: Shape, dtype: str) -> None:
    a, b = data(a_shape, dtype, 1), data(b_shape, dtype, 2)
    expected = np.einsum("...ik,...kj->...ij", a.astype(np.float64), b.astype(np.float64))
    agree(result(O.matmul, a, b), expected, a_shape[-1])


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.slow
def test_integers_are_summed_in_int32_or_wider_and_wrap(dtype: str) -> None:
    a, b = data((4, 67), dtype, 1), data((67, 5), dtype, 2)
    a[0], b[:, 0] = np.iinfo(dtype).min, np.iinfo(dtype).min
    wide = "int64" if dtype == "int64" else "int32"
    half = 1 << (ELEMENT_TYPES[wide].bits - 1)
    exact = a.astype(object) @ b.astype(object)
    exactly(result(O.matmul, a, b), ((exact + half) % (2 * half) - half).astype(wide))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_are_summed_in_float32(dtype: str) -> None:
    ones = np.ones(
        (1, 4096), ELEMENT_TYPES[dtype].numpy
    )  # in half types the sum stalls at 2048 or 256
    found = result(lambda a: O.matmul(a, a, transpose_b=True), ones)
    exactly(found, np.full((1, 1), 4096, ones.dtype))


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda a, v, c: O.matmul(a, v), "second operand of matmul has rank 1, not 2 or more"),
        (lambda a, v, c: O.matmul(a, a), "K of matmul is 4 in the first operand but 3"),
        (lambda a, v, c: O.matmul(c, c), "matmul is not defined on bool"),
        (lambda a, v, c: O.matmul(a, c), "operands of matmul have different element types"),
        (lambda a, v, c: U.matmul(a, 2.0), "second operand of matmul has rank 0"),
        (lambda a, v, c: U.matmul(a, a, transpose_b="yes"), "transpose_b of matmul is 'yes'"),
    ],
)
def test_invalid_operands_are_refused_at_the_users_line(write: Write, text: str) -> None:
    arrays = [data((3, 4), "float32"), data((4,), "float32"), data((4, 4), "bool")]
    with pytest.raises(UserError, match=text) as caught:
        graph_of([write], *arrays)
    assert "test_ops_matmul.py" in str(caught.value.where)


def test_the_first_dimension_may_be_symbolic() -> None:
    x, w = O.tensor(("n", 3), name="x"), O.tensor((3, 4), name="w")
    with O.graph() as gb:
        O.matmul(x, w)
    assert gb.graph.outputs[0].shape == ("n", 4)
    with O.graph() as gb:
        O.matmul(x, x, transpose_a=True)
    assert gb.graph.outputs[0].shape == (3, 3)
    with pytest.raises(UserError, match="only the first dimension may be symbolic"), O.graph():
        O.matmul(x, x, transpose_b=True)


@pytest.mark.parametrize(
    ("a", "b", "names"),
    [
        ((2, 3), (3, 4), "i j k"),
        ((5, 2, 3), (3, 4), "b i j k"),
        ((2, 5, 2, 3), (3, 4), "b0 b1 i j k"),
    ],
)
def test_loops_and_flops(a: Shape, b: Shape, names: str) -> None:
    (node,) = graph_of([O.matmul], data(a, "float32"), data(b, "float32")).nodes
    assert [loop.name for loop in node.op.loops(*node.input_types)] == names.split()
    assert node.flops == 2 * int(np.prod(a[:-1])) * 3 * 4
