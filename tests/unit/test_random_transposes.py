# SPDX-License-Identifier: Apache-2.0
"""Transposes of tensors of any size, with elementwise operations before and after them.

48 in each run, 4,800 in a long one.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import xtc.ops as O
from tests.unit.compiled_batch import results
from tests.unit.random_operators import random_inputs
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor

BATCH = 16
COUNT = 300 if settings().max_examples > 100 else 3
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
SIZES = (1, 2, 3, 4, 5, 8, 14, 17, 33)
ELEMENTS = ("float32", "float32", "float32", "int32", "int8", "float16", "float64")


def transposing(rng: Random) -> Graph:
    """A transpose between up to four elementwise operations."""
    element = rng.choice(ELEMENTS)
    sizes = [rng.choice(SIZES) for _ in range(rng.randint(2, 4))]
    order = rng.sample(range(len(sizes)), len(sizes))
    with O.graph(name="transposing") as gb:
        x = O.tensor(tuple(sizes), element, name="x")
        for _ in range(rng.randint(0, 2)):
            x = changed(rng, x)
        x = O.transpose(x, tuple(order))
        for _ in range(rng.randint(0, 2)):
            x = changed(rng, x)
        if rng.random() < 0.3:
            x = O.transpose(x, tuple(rng.sample(order, len(order))))
        O.add(x, x, name="y")
    return gb.graph


def changed(rng: Random, x: Tensor) -> Tensor:
    """An elementwise operation, whose other operand may be smaller."""
    sizes = [rng.choice((1, size)) for size in x.type.sizes]
    if rng.random() < 0.4:
        sizes = list(x.type.sizes)
    if rng.random() < 0.4:
        return O.relu(x) if rng.random() < 0.5 else O.mul(x, 3)
    other = O.tensor(tuple(sizes), x.type.element.name)
    return rng.choice((O.add, O.mul, O.maximum))(x, other)


@pytest.mark.slow
@settings(max_examples=COUNT, phases=PHASES)
@given(seed=st.integers(0, (1 << 32) - 1))
def test_a_transpose_moves_every_element(seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    graphs = [transposing(rng) for _ in range(BATCH)]
    inputs = [random_inputs(rng, graph) for graph in graphs]
    found = results([prepare(graph) for graph in graphs], inputs)
    for graph, arrays, (actual,) in zip(graphs, inputs, found, strict=True):
        expected = graph.evaluate(*arrays, precise=False)
        np.testing.assert_allclose(
            actual, expected, rtol=1e-2 if actual.dtype == np.float16 else 1e-6, err_msg=str(graph)
        )
