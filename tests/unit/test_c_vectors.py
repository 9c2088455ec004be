# SPDX-License-Identifier: Apache-2.0
"""Vectors in C: remainders, masks, strides, broadcasts, sums and conversions, of every type."""

from __future__ import annotations

from typing import Any

import pytest

import xtc
import xtc.ops as O
from tests.unit.c_support import strict_compiler
from tests.unit.ops_support import ALL, FLOATS, INTS, data
from xtc.graph.graph import Graph

pytestmark = pytest.mark.slow

__all__ = ["strict_compiler"]

ROWS = {"i": {}, "j": "vectorize"}
COLUMNS = {"j": {}, "i": "vectorize"}


def vectors(dtype: str) -> tuple[Graph, dict[str, Any]]:
    """Nodes whose loops become vectors, and their schedules."""
    x, y, row = (
        O.tensor(shape, dtype, name=name)
        for name, shape in (("x", (5, 53)), ("y", (5, 53)), ("row", (53,)))
    )
    condition = O.tensor((5, 53), "bool", name="condition")
    with O.graph(name="vectors") as gb:
        tensors = [
            O.where(condition, x, y, name="masked"),
            O.minimum(x, y, name="tail"),
            O.maximum(x, y, name="strided"),
            O.maximum(x, row, name="broadcast"),
            O.transpose(x, name="transposed"),
        ]
        O.outputs(*tensors)
    schedule = dict.fromkeys(("masked", "tail", "broadcast"), ROWS)
    both = {"i": "vectorize", "j": "vectorize"}
    return gb.graph, {**schedule, "strided": COLUMNS, "transposed": both}


def sums(dtype: str) -> tuple[Graph, dict[str, Any]]:
    """Matmuls and sums: along rows, along columns, and over windows with stride 2."""
    a, b, bt = (
        O.tensor(shape, dtype, name=name)
        for name, shape in (("a", (5, 7)), ("b", (7, 53)), ("bt", (53, 7)))
    )
    image, filters = O.tensor((1, 7, 15, 3), dtype, name="x"), O.tensor((3, 3, 3, 5), dtype)
    with O.graph(name="sums") as gb:
        O.outputs(
            O.matmul(a, b, name="rows"),
            O.matmul(a, bt, transpose_b=True, name="columns"),
            O.conv2d(image, filters, stride=2, name="second"),
            O.reduce_sum(b, axes=(0,), name="total"),
        )
    product = {"i": {}, "k": {}, "j": "vectorize"}
    total = xtc.Schedule(gb.graph)["total"]
    kept, reduced = (
        next(axis.name for axis in total.axes if axis.reduction is is_sum)
        for is_sum in (False, True)
    )
    return gb.graph, {
        "rows": product,
        "columns": product,
        "second": {**dict.fromkeys("nhwrsc"), "f": "vectorize"},
        "total": {reduced: {}, kept: "vectorize"},
    }


def check(graph: Graph, schedule: dict[str, Any]) -> str:
    """Compare with NumPy; returns the C code."""
    inputs = [data(tensor.type.sizes, tensor.dtype, n) for n, tensor in enumerate(graph.inputs)]
    with xtc.compile(graph, schedule=schedule, codegen="c", opt_level=1, in_memory=True) as module:
        module.check(*inputs)
        return str(module.ir("code"))


@pytest.mark.parametrize("dtype", ALL)
def test_vectors_of_every_type(strict_compiler: str, dtype: str) -> None:
    text = check(*vectors(dtype))
    assert "gathered" in text
    assert "select_" in text


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_sums_of_every_type(strict_compiler: str, dtype: str) -> None:
    assert "vector_size" in check(*sums(dtype))
