# SPDX-License-Identifier: Apache-2.0
"""Vectors over a reduction: partial sums, where the order is free or permitted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc.schedule import NodeSchedule


def _product(dtype: str, k: int = 50) -> Graph:
    with O.graph(name="product") as builder:
        O.matmul(O.tensor((8, k), dtype), O.tensor((k, 6), dtype), name="C")
    return builder.graph


def _reduced(operator: Callable[..., object], dtype: str) -> Graph:
    with O.graph(name="reduced") as builder:
        operator(O.tensor((5, 103), dtype), axes=(1,), name="C")
    return builder.graph


def _by_rows(node: NodeSchedule) -> None:
    """Three rows at a time, with vectors of K between them."""
    node.tile("k", {"k1": 16}).tile("i", {"i1": 3}).interchange(["i", "j", "k", "i1", "k1"])
    node.vectorize(["k1"], reassociate=True).unroll({"i1": 3})


def _whole(node: NodeSchedule) -> None:
    node.vectorize([node.dims[-1]], reassociate=True)


def _tiles(node: NodeSchedule) -> None:
    node.tile(node.dims[-1], {"t": 32, "v": 8}).vectorize(["v"], reassociate=True)


CASES: dict[str, tuple[Graph, Callable[[NodeSchedule], None]]] = {
    "rows": (_product("float32"), _by_rows),
    "whole": (_product("float32"), _whole),
    "tiles": (_product("float64", 64), _tiles),
    "bfloat16": (_product("bfloat16"), _tiles),
    "sum": (_reduced(O.reduce_sum, "float32"), _tiles),
    "product": (_reduced(O.reduce_prod, "float64"), _whole),
    "largest": (_reduced(O.reduce_max, "float32"), _tiles),
}


@pytest.mark.slow
@pytest.mark.parametrize("codegen", ["llvm", "c"])
@pytest.mark.parametrize("case", list(CASES))
def test_partial_sums_are_correct(case: str, codegen: str) -> None:
    graph, write = CASES[case]
    schedule = xtc.Schedule(graph)
    write(schedule["C"])
    again = xtc.Schedule.of(graph, schedule.texts())
    assert again["C"].data == schedule["C"].data
    with xtc.compile(graph, schedule=again, codegen=codegen, in_memory=True) as module:
        assert "vector<" in module.ir("scheduled")
        module.check()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_integers_need_no_permission(dtype: str) -> None:
    graph = _product(dtype)
    with xtc.compile(graph, schedule={"C": ["i", "j", "k", "k#16=vectorize"]}) as module:
        module.check()


def test_largest_elements_need_no_permission() -> None:
    xtc.Schedule.of(_reduced(O.reduce_min, "float16"), {"C": ["i", "j", "j#16=vectorize"]})


def test_sums_of_floats_need_permission() -> None:
    with pytest.raises(UserError, match="'k#16' of C cannot be vectorized") as refused:
        xtc.Schedule.of(_product("float32"), {"C": ["i", "j", "k", "k#16=vectorize"]})
    assert "or allow partial sums: vectorize(['k#16'], reassociate=True)" in str(refused.value)


def test_a_body_without_partial_results_is_refused() -> None:
    with O.graph(name="place") as builder:
        O.argmax(O.tensor((9, 40)), axis=1, name="C")
    with pytest.raises(UserError, match="its body does not combine elements by one operation"):
        xtc.compile(builder.graph, schedule={"C": ["i", "j=vectorize:reassociate"]})


@pytest.mark.slow
@pytest.mark.parametrize("word", ["vectorize", "vectorize:reassociate"])
def test_vectors_over_k_alone_are_partial_sums_despite_dot_products(word: str) -> None:
    """Two elements of int8 form a group only beside vectors of the result, in the graph as in the
    IR."""
    a, x = O.tensor((13, 17), "int8", name="A"), O.tensor((13,), "int8", name="X")
    with O.graph() as gb:
        O.gemv(a, x, transpose=True, name="C")
    segments = {"k[0:11]": {"k": word}, "k[11:13]": {"k": word}}
    xtc.compile(gb.graph, schedule={"C": {"i": {}, **segments}}, in_memory=True).check()
