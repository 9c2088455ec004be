# SPDX-License-Identifier: Apache-2.0
"""Reductions in any order: correct for every length and NaN, and in order on request."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor

pytestmark = pytest.mark.slow

Array = np.ndarray[Any, Any]
Reduce = Callable[..., Tensor]

_LENGTHS = (1, 3, 16, 127, 128, 129, 1009)
_WIDE = 4099


def _graph(reduce: Reduce, shape: tuple[int, ...], axes: object, type: str = "float32") -> Graph:
    with O.graph(name="reduction") as gb:
        reduce(O.tensor(shape, type, name="x"), axes=axes, name="y")
    return gb.graph


def _result(graph: Graph, x: Array, **options: Any) -> Array:
    with xtc.compile(graph, in_memory=True, **options) as module:
        return np.asarray(module(x))


@pytest.mark.parametrize("reduce", [O.reduce_sum, O.reduce_max, O.reduce_min, O.reduce_mean])
def test_rows_of_any_length(reduce: Reduce) -> None:
    for length in _LENGTHS:
        with xtc.compile(_graph(reduce, (5, length), -1), in_memory=True) as module:
            module.check()


@pytest.mark.parametrize("type", ["float16", "bfloat16", "float64", "int8", "int32"])
def test_types(type: str) -> None:
    for reduce in (O.reduce_sum, O.reduce_max):
        with xtc.compile(_graph(reduce, (_WIDE,), None, type), in_memory=True) as module:
            module.check()


@pytest.mark.parametrize("shape", [(_WIDE,), (3, 500), (31, 17), (200, 3), (2, 5, 130), (1, 1)])
def test_everything_and_leading_dimensions(shape: tuple[int, ...]) -> None:
    for reduce, axes in itertools.product((O.reduce_sum, O.reduce_min), (None, 0)):
        with xtc.compile(_graph(reduce, shape, axes), in_memory=True) as module:
            module.check()


@pytest.mark.parametrize("length", [5, 200, 1009])
@pytest.mark.parametrize("reduce", [O.reduce_max, O.reduce_min])
def test_one_nan_at_any_position_propagates(reduce: Reduce, length: int) -> None:
    with xtc.compile(_graph(reduce, (20, length), 1), in_memory=True) as module:
        for place in {0, 1, length // 2, length - 1}:
            x = np.random.default_rng(place).normal(size=(20, length)).astype(np.float32)
            x[::3, place] = np.nan
            y = np.asarray(module(x))
            assert np.isnan(y[::3]).all()
            assert not np.isnan(y[1::3]).any()


def test_infinities() -> None:
    x = np.full((4, 300), -np.inf, np.float32)
    x[1, 299] = 2
    x[2, 7] = np.inf
    assert _result(_graph(O.reduce_max, x.shape, 1), x).tolist() == [-np.inf, 2, np.inf, -np.inf]
    total = _result(_graph(O.reduce_sum, x.shape, 1), x)
    assert np.array_equal(total, [-np.inf, -np.inf, np.nan, -np.inf], equal_nan=True)


def _terms(*shape: int) -> Array:
    """Elements whose sum has other last bits in another order."""
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("length", [100, 128, 1009])
def test_the_sum_of_a_row_does_not_depend_on_other_rows(length: int) -> None:
    x = _terms(37, length)
    together = _result(_graph(O.reduce_sum, x.shape, 1), x)
    alone = [_result(_graph(O.reduce_sum, (1, length), 1), row[None])[0] for row in x[-2:]]
    assert alone == together[-2:].tolist()


def test_threads_change_no_bits() -> None:
    x = _terms(2048, 300)
    graph = _graph(O.reduce_sum, x.shape, 1)
    sequential, threaded = (_result(graph, x, threads=threads) for threads in (1, 2))
    assert np.array_equal(sequential, threaded)


@pytest.mark.parametrize("codegen", ["llvm", "c"])
def test_a_schedule_keeps_the_order(codegen: str) -> None:
    x = _terms(_WIDE)
    graph = _graph(O.reduce_sum, x.shape, None)
    in_order = np.cumsum(x)[-1]
    assert _result(graph, x, codegen=codegen) != in_order
    assert _result(graph, x, schedule={"y": ["i"]}, codegen=codegen) == in_order
