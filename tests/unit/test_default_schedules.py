# SPDX-License-Identifier: Apache-2.0
"""Default schedules never change a result: random sizes of every operator family with a rule.

10 graphs of each family in every run, 500 in a long one; a quarter of them for small caches, so
that small sizes are blocked as well.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.c_support import STRICT
from tests.unit.compiled_batch import results
from tests.unit.random_operators import random_inputs
from xtc.driver import prepare
from xtc.evaluate import compare, rounding_noise
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor

BATCH = 5
COUNT = 1 if settings().max_examples < 1000 else 100
"""Batches of each family."""
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
SIZES = (1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33, 47, 64, 65, 97, 100, 128)
FLOATS = ("float32", "float32", "float32", "float64")
SMALL_CACHES = {"l1_bytes": 1024, "l2_bytes": 8192}


def _product(rng: Random) -> Tensor:
    i, j, k = (rng.choice(SIZES) for _ in range(3))
    batch = rng.choice(((), (), (2,), (3, 2)))
    shared = rng.random() < 0.3
    dtype, turn_a, turn_b = rng.choice(FLOATS), rng.random() < 0.3, rng.random() < 0.3
    a = O.tensor((*batch, *((k, i) if turn_a else (i, k))), dtype, name="a")
    b = O.tensor((*(() if shared else batch), *((j, k) if turn_b else (k, j))), dtype, name="b")
    return O.matmul(a, b, transpose_a=turn_a, transpose_b=turn_b)


def _few_rows(rng: Random) -> Tensor:
    """A vector, or few rows, times a matrix; or a matrix times a vector."""
    i, j, k = rng.choice((1, 1, 2, 5)), rng.choice(SIZES), rng.choice(SIZES) * rng.choice((1, 3))
    dtype = rng.choice(FLOATS)
    if rng.random() < 0.5:
        turned = rng.random() < 0.5
        a = O.tensor((k, j) if turned else (j, k), dtype, name="a")
        return O.gemv(a, O.tensor((k,), dtype, name="x"), transpose=turned)
    return O.matmul(O.tensor((i, k), dtype, name="a"), O.tensor((k, j), dtype, name="b"))


def _conv2d(rng: Random, groups: int = 1, part: int = 0, each: int = 0) -> Tensor:
    r, s = rng.choice((1, 1, 2, 3, 5)), rng.choice((1, 1, 2, 3))
    stride, dilation = rng.choice((1, 1, 2, (2, 1))), rng.choice((1, 1, 1, 2))
    height, width = (rng.choice((1, 2, 3, 5, 7, 14, 17)) for _ in range(2))
    dtype = rng.choice(FLOATS)
    part, each = part or rng.choice(SIZES[:13]), each or rng.choice(SIZES)
    sizes = (rng.choice((1, 1, 1, 2, 7)), height + (r - 1) * 2, width + (s - 1) * 2)
    x = O.tensor((*sizes, groups * part), dtype, name="x")
    w = O.tensor((r, s, part, groups * each), dtype, name="w")
    padding = rng.choice((0, "same", ((1, 0), (0, 2))))
    return O.conv2d(x, w, stride=stride, dilation=dilation, padding=padding, groups=groups)


def _grouped_conv2d(rng: Random) -> Tensor:
    return _conv2d(rng, rng.choice((2, 3)), rng.choice((1, 4, 7, 16)), rng.choice((1, 3, 16, 33)))


def _depthwise_conv2d(rng: Random) -> Tensor:
    return _conv2d(rng, rng.choice(SIZES), 1, rng.choice((1, 1, 1, 2)))


def _pool(rng: Random) -> Tensor:
    pool, dtype = rng.choice((O.max_pool2d, O.avg_pool2d)), rng.choice(FLOATS)
    window = rng.choice((1, 2, 3)), rng.choice((1, 2, 3, 5, 7))
    sizes = tuple(rng.choice((7, 8, 14, 17, 29)) for _ in range(2))
    x = O.tensor((rng.choice((1, 2)), *sizes, rng.choice(SIZES)), dtype, name="x")
    stride, padding = rng.choice((1, 2, None)), rng.choice((0, "same"))
    return pool(x, window, stride=stride, padding=padding)


def _normalization(rng: Random) -> Tensor:
    sizes = tuple(rng.choice(SIZES) for _ in range(rng.choice((1, 2, 2, 3))))
    x = O.tensor(sizes, rng.choice(FLOATS), name="x")
    if rng.random() < 0.5:
        return O.softmax(x, axis=rng.randrange(-1, 1))
    names = ("gamma", "beta")[: rng.randrange(3)]
    row = [O.tensor(x.shape[-1:], x.dtype, name=name) for name in names]
    return O.layer_norm(x, *row)


def _reduction(rng: Random) -> Tensor:
    sizes = tuple(rng.choice(SIZES) for _ in range(rng.choice((1, 2, 2, 3))))
    axes = sorted(rng.sample(range(len(sizes)), rng.randint(1, len(sizes))))
    reduce = rng.choice((O.reduce_sum, O.reduce_sum, O.reduce_max, O.reduce_mean))
    return reduce(O.tensor(sizes, rng.choice(FLOATS), name="x"), axes=axes)


def _elementwise(rng: Random) -> Tensor:
    sizes = tuple(rng.choice(SIZES) for _ in range(rng.choice((1, 2, 3))))
    x, y = (O.tensor(sizes, name=name) for name in "xy")
    unary = rng.choice((O.exp, O.tanh, O.gelu, O.sigmoid, O.relu))
    return O.add(unary(O.mul(x, y)), x)


FAMILIES: dict[str, Callable[[Random], Tensor]] = {
    "product": _product,
    "few_rows": _few_rows,
    "conv2d": _conv2d,
    "grouped_conv2d": _grouped_conv2d,
    "depthwise_conv2d": _depthwise_conv2d,
    "pool": _pool,
    "normalization": _normalization,
    "reduction": _reduction,
    "elementwise": _elementwise,
}


def random_graph(rng: Random, family: str) -> Graph:
    with O.graph(name="random") as gb:
        FAMILIES[family](rng)
    return gb.graph


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=COUNT, phases=PHASES)
@given(seed=st.integers(0, (1 << 32) - 1))
def test_results_agree_with_numpy(family: str, seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    graphs = [random_graph(rng, family) for _ in range(BATCH)]
    caches = rng.choice(({}, {}, {}, SMALL_CACHES))
    options = {"threads": rng.choice((1, 2, 3)), **caches}
    batch = [prepare(graph, **options) for graph in graphs]
    inputs = [random_inputs(rng, graph) for graph in graphs]
    for graph, arrays, (actual,) in zip(graphs, inputs, results(batch, inputs), strict=True):
        expected = graph.evaluate(*arrays, precise=True)
        noise = rounding_noise(graph.evaluate(*arrays, precise=False), expected)
        reduction = max(1, graph.reduction_size)
        name = f"{graph} with {options}"
        compare(actual, expected, name=name, reduction=reduction, noise=noise).raise_if_wrong()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=COUNT, phases=PHASES)
@given(seed=st.integers(0, (1 << 32) - 1))
def test_c_agrees_with_numpy(family: str, seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    graph = random_graph(rng, family)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XTC_CC", f"cc {STRICT}")
        options = {"codegen": "c", "opt_level": 1, "threads": rng.choice((1, 2))}
        with xtc.compile(graph, in_memory=True, **options, **SMALL_CACHES) as module:
            module.check(*random_inputs(rng, graph))
