# SPDX-License-Identifier: Apache-2.0
"""Random small graphs of many operators, for properties of all graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import xtc.ops as O
from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.graph import Graph
from xtc.graph.placement import Placement
from xtc.graph.tensor import Tensor

Array = np.ndarray[Any, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

DTYPES = st.sampled_from(sorted(ELEMENT_TYPES))
DEVICES = st.sampled_from([None, "null0", "null1", Placement("other_target", "board-3:1")])
SHAPES = st.lists(st.integers(1, 4), max_size=3).map(tuple)
SYMBOLS = st.sampled_from(["n", "batch", "true", "null", "y"])
UNARY = ("relu", "neg", "exp", "tanh", "sigmoid", "gelu", "sqrt", "leaky_relu")
BINARY = ("add", "sub", "mul", "maximum", "matmul", "gemv")
NAMES = ("yes", "no", "on", "null", "true", "_", "nan", "inf", "e5", "int", "y", "Infinity")


@st.composite
def arrays(draw: Draw, shape: tuple[int, ...], dtype: str) -> Array:
    """Arbitrary bytes: every NaN and infinity; 0 and 1 for bool."""
    element = ELEMENT_TYPES[dtype]
    count = int(np.prod(shape, dtype=int))
    if dtype == "bool":
        bits = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        return np.array(bits, bool).reshape(shape)
    if draw(st.booleans()):
        numbers = draw(st.lists(st.integers(-9, 9), min_size=count, max_size=count))
        return (np.array(numbers, np.float64) / (4 if element.is_float else 1)).astype(
            element.numpy
        ).reshape(shape)  # fmt: skip
    size = count * element.nbytes
    data = draw(st.binary(min_size=size, max_size=size))
    return np.frombuffer(data, element.numpy).reshape(shape)


@st.composite
def graphs(draw: Draw) -> Graph:
    """A graph of one to eight operators; combinations that an operator refuses are skipped."""
    pool = [draw(_leaf()) for _ in range(draw(st.integers(1, 3)))]
    names = draw(st.permutations(NAMES))
    with O.graph(name=draw(st.sampled_from(["g", "graph_1", "on"]))) as gb:
        for _ in range(draw(st.integers(1, 7))):
            try:
                name = names.pop() if draw(st.booleans()) else None
                pool.append(_step(draw, pool, name))
            except UserError:
                continue
        if not gb.nodes or draw(st.booleans()):
            pool.append(O.cast(draw(st.sampled_from(pool)), draw(DTYPES)))
    return gb.graph


@st.composite
def _leaf(draw: Draw) -> Tensor:
    shape: tuple[int | str, ...] = draw(SHAPES)
    dtype, device = draw(DTYPES), draw(DEVICES)
    if draw(st.booleans()):
        const = draw(arrays(shape, dtype))  # type: ignore[arg-type]
        return O.tensor(shape, dtype, device=device, const=const)
    if shape and draw(st.booleans()):
        shape = (draw(SYMBOLS), *shape[1:])
    return O.tensor(shape, dtype, device=device)


def _step(draw: Draw, pool: list[Tensor], name: str | None) -> Tensor:
    x, y = (draw(st.sampled_from(pool)) for _ in range(2))
    options = {"device": draw(DEVICES), "name": name}
    kind = draw(st.sampled_from(["unary", "binary", "number", "attributes"]))
    if kind == "unary":
        return _operator(draw(st.sampled_from(UNARY)))(x, **options)
    if kind == "binary":
        return _operator(draw(st.sampled_from(BINARY)))(x, y, **options)
    if kind == "number":
        return O.mul(x, draw(st.sampled_from([2, 0.5, -1, True])), **options)
    return _with_attributes(draw, x, y, options)


def _with_attributes(draw: Draw, x: Tensor, y: Tensor, options: dict[str, Any]) -> Tensor:
    rank = x.type.rank
    choice = draw(st.integers(0, 5))
    if choice == 0:
        return O.transpose(x, draw(st.permutations(range(rank))), **options)
    if choice == 1:
        return O.reduce_sum(x, axes=draw(st.integers(-rank, rank)), keepdims=True, **options)
    if choice == 2:
        return O.matmul(x, y, transpose_a=draw(st.booleans()), transpose_b=True, **options)
    if choice == 3:
        return O.leaky_relu(x, slope=draw(st.floats(0, 1)), **options)
    if choice == 4:
        return O.concat(x, y, axis=draw(st.integers(0, 2)), **options)
    return O.cast(x, draw(DTYPES), **options)


def _operator(name: str) -> Callable[..., Tensor]:
    function: Callable[..., Tensor] = getattr(O, name)
    return function
