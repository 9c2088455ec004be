# SPDX-License-Identifier: Apache-2.0
"""Random graphs of one scheduled operator: all families, sizes with remainders, all types."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

import xtc.ops as O
from xtc.emit.module import main_operations
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor

Array = np.ndarray[Any, Any]

SIZES = (1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 24, 31, 32)
SMALL = (1, 2, 3, 4, 5, 7, 8)
SUMMED = ("float32", "float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64")
FLOATS = ("float32", "float32", "float64", "float16", "bfloat16")
ANY = (*SUMMED, "bool")

Make = Callable[[Random], Tensor]


def _sizes(rng: Random, rank: int, choices: tuple[int, ...] = SIZES) -> tuple[int, ...]:
    """Sizes whose product stays small."""
    sizes = [rng.choice(choices) for _ in range(rank)]
    while rank and math.prod(sizes) > 20_000:
        sizes[sizes.index(max(sizes))] = rng.choice(SMALL)
    return tuple(sizes)


def _matmul(rng: Random) -> Tensor:
    i, j, k = _sizes(rng, 3)
    batch = [rng.choice((1, 2, 3)) for _ in range(rng.choice((0, 0, 0, 1, 1, 2)))]
    transpose_a, transpose_b = rng.random() < 0.25, rng.random() < 0.25
    dtype = rng.choice(SUMMED)
    a = O.tensor((*_stretched(rng, batch), *((k, i) if transpose_a else (i, k))), dtype, name="a")
    b = O.tensor((*_stretched(rng, batch), *((j, k) if transpose_b else (k, j))), dtype, name="b")
    return O.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name="C")


def _stretched(rng: Random, batch: list[int]) -> list[int]:
    """Leading dimensions, some of which are broadcast."""
    left = batch[rng.randrange(2) if batch else 0 :]
    return [1 if rng.random() < 0.2 else size for size in left]


def _gemv(rng: Random) -> Tensor:
    i, k = _sizes(rng, 2)
    transpose, dtype = rng.random() < 0.5, rng.choice(SUMMED)
    a = O.tensor((k, i) if transpose else (i, k), dtype, name="a")
    return O.gemv(a, O.tensor((k,), dtype, name="x"), transpose=transpose, name="C")


def _conv2d(rng: Random) -> Tensor:
    r, s = rng.choice((1, 2, 3)), rng.choice((1, 2, 3))
    stride = rng.choice((1, 1, 2)), rng.choice((1, 1, 2))
    dilation = rng.choice((1, 1, 2)), rng.choice((1, 1, 2))
    height = (r - 1) * dilation[0] + rng.choice((1, 2, 3, 5, 7))
    width = (s - 1) * dilation[1] + rng.choice((1, 2, 3, 4, 5, 8))
    groups, part, each = rng.choice((1, 1, 1, 2, 3)), rng.choice(SMALL), rng.choice(SMALL)
    if rng.random() < 0.3:
        part, each = 1, rng.choice((1, 1, 2))
        groups = rng.choice(SMALL)
    dtype = rng.choice(SUMMED)
    x = O.tensor((rng.choice((1, 2)), height, width, groups * part), dtype, name="x")
    w = O.tensor((r, s, part, groups * each), dtype, name="w")
    padding = rng.choice((0, 0, 1, "same"))
    return O.conv2d(
        x, w, stride=stride, dilation=dilation, groups=groups, padding=padding, name="C"
    )


def _pool(rng: Random) -> Tensor:
    pool = rng.choice((O.max_pool2d, O.avg_pool2d))
    r, s = rng.choice((1, 2, 3)), rng.choice((1, 2, 3))
    dilation = rng.choice((1, 1, 2))
    height, width = ((n - 1) * dilation + rng.choice((1, 2, 4, 7)) for n in (r, s))
    dtype = rng.choice(SUMMED if pool is O.max_pool2d else FLOATS)
    x = O.tensor((rng.choice((1, 2)), height, width, rng.choice(SIZES)), dtype, name="x")
    stride = rng.choice((1, 2, None))
    return pool(x, (r, s), stride=stride, dilation=dilation, name="C")


def _reduction(rng: Random) -> Tensor:
    rank = rng.choice((1, 2, 2, 3, 4))
    reduce = rng.choice((O.reduce_sum, O.reduce_max, O.reduce_min, O.reduce_mean))
    axes = sorted(rng.sample(range(rank), rng.randint(1, rank)))
    dtype = rng.choice(FLOATS if reduce is O.reduce_mean else SUMMED)
    x = O.tensor(_sizes(rng, rank), dtype, name="x")
    return reduce(x, axes=axes, keepdims=rng.random() < 0.5, name="C")


def _normalization(rng: Random) -> Tensor:
    rank = rng.choice((1, 2, 3))
    sizes, dtype, axis = _sizes(rng, rank), rng.choice(FLOATS), rng.randrange(rank)
    x = O.tensor(sizes, dtype, name="x")
    if rng.random() < 0.5:
        return O.softmax(x, axis=axis, name="C")
    names = ("gamma", "beta")[: rng.randrange(3)]
    row = [O.tensor(sizes[axis:], dtype, name=name) for name in names]
    return O.layer_norm(x, *row, axis=axis, name="C")


def _elementwise(rng: Random) -> Tensor:
    sizes = _sizes(rng, rng.choice((0, 1, 2, 2, 3, 4)))
    form = rng.choice(("binary", "binary", "unary", "where", "cast", "transpose"))
    if form == "unary":
        write = rng.choice((O.relu, O.exp, O.tanh, O.sigmoid, O.gelu, O.neg, O.leaky_relu))
        return write(O.tensor(sizes, rng.choice(FLOATS), name="x"), name="C")
    if form == "cast":
        return O.cast(O.tensor(sizes, rng.choice(ANY), name="x"), rng.choice(ANY), name="C")
    if form == "transpose" and sizes:
        axes = rng.sample(range(len(sizes)), len(sizes))
        return O.transpose(O.tensor(sizes, rng.choice(ANY), name="x"), axes, name="C")
    if form == "where":
        dtype = rng.choice(ANY)
        values = [O.tensor(_broadcast(rng, sizes), dtype, name=name) for name in "ab"]
        return O.where(O.tensor(_broadcast(rng, sizes), "bool", name="c"), *values, name="C")
    combine = rng.choice((O.add, O.sub, O.mul, O.maximum, O.minimum))
    dtype = rng.choice(SUMMED)
    a, b = (O.tensor(_broadcast(rng, sizes), dtype, name=name) for name in "ab")
    return combine(a, b, name="C")


def _broadcast(rng: Random, sizes: tuple[int, ...]) -> tuple[int, ...]:
    first = rng.randrange(2) if sizes else 0
    return tuple(1 if rng.random() < 0.2 else size for size in sizes[first:])


def _chain(rng: Random) -> Tensor:
    """An operator on the results of others, which can be fused into it."""
    i, j, k = _sizes(rng, 3)
    dtype = rng.choice(("float32", "float32", "float16", "int32"))
    a, b = O.tensor((i, k), dtype, name="a"), O.tensor((k, j), dtype, name="b")
    product = O.matmul(a, b, name="P")
    form = rng.randrange(5)
    if form == 0:
        return O.add(product, O.neg(O.tensor((j,), dtype, name="c"), name="Q"), name="C")
    if form == 1:
        return O.relu(product, name="C")
    if form == 2:
        return O.matmul(product, O.tensor((j, k), dtype, name="d"), name="C")
    if form == 3:
        return O.mul(product, product, name="C")
    sum = O.add(product, O.tensor((j,), dtype, name="c"), name="Q")
    return O.reduce_sum(sum, axes=[rng.randrange(2)], name="C")


FAMILIES: dict[str, Make] = {
    "matmul": _matmul,
    "gemv": _gemv,
    "conv2d": _conv2d,
    "pool": _pool,
    "reduction": _reduction,
    "normalization": _normalization,
    "elementwise": _elementwise,
    "chain": _chain,
}


def random_graph(rng: Random, family: str) -> Graph:
    """A graph of the family; its last operator is called C and has loops."""
    while True:
        with O.graph(name="random") as gb:
            O.outputs(FAMILIES[family](rng))
        graph = _with_constants(rng, gb.graph)
        main = main_operations(graph).get("C")
        if main is not None and main.loops:
            return graph


def _with_constants(rng: Random, graph: Graph) -> Graph:
    """Turn some of the inputs into constants, whose elements may all be equal."""
    chosen = [tensor for tensor in graph.inputs if rng.random() < 0.2]
    for tensor in chosen:
        tensor.const = _small(np.random.default_rng(rng.randrange(1 << 30)), tensor)
        if rng.random() < 0.5:
            tensor.const = np.full_like(tensor.const, tensor.const.flat[0])
    return replace(graph, inputs=tuple(tensor for tensor in graph.inputs if tensor not in chosen))


def random_inputs(rng: Random, graph: Graph) -> list[Array]:
    """Small integers in every type, whose sums are the same in any order."""
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    return [_small(numbers, tensor) for tensor in graph.inputs]


def _small(numbers: np.random.Generator, tensor: Tensor) -> Array:
    least = 0 if tensor.dtype == "bool" else -3
    return numbers.integers(least, 2, tensor.type.sizes).astype(tensor.element.numpy)
