# SPDX-License-Identifier: Apache-2.0
"""Code for processors with narrower vectors than this machine's: all operator families."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import xtc.ops as O
from tests.unit.compiled_batch import results
from tests.unit.random_operators import FAMILIES, random_graph, random_inputs
from xtc.codegen.llvm import Machine
from xtc.driver import prepare
from xtc.evaluate import compare, rounding_noise
from xtc.graph.graph import Graph

BATCH = 4
COUNT = max(1, settings().max_examples // 20 - 2)
"""Batches of each family and processor: 4 operators, 392 in a long run."""
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
FEATURES = {"avx2": "-avx512f,-avxvnni", "sse2": "-avx,-sse3"}
SIZES = (6, 16, 23, 48, 61, 96, 130)

pytestmark = pytest.mark.skipif(
    not Machine.host().triple.startswith("x86_64"), reason="vectors are taken from an x86 here"
)


def matmul_graph(rng: Random) -> Graph:
    """Large enough for a schedule with vectors, usually with remainders."""
    m, n, k = (rng.choice(SIZES) for _ in range(3))
    dtype = rng.choice(("float32", "float32", "float64"))
    a, b = O.tensor((m, k), dtype, name="a"), O.tensor((k, n), dtype, name="b")
    with O.graph(name="product") as gb:
        O.relu(O.matmul(a, b, name="C"), name="R")
    return gb.graph


@pytest.mark.slow
@pytest.mark.parametrize("processor", FEATURES)
@pytest.mark.parametrize("family", ["product", *FAMILIES])
@settings(max_examples=COUNT, phases=PHASES)
@given(seed=st.integers(0, (1 << 32) - 1))
def test_random_operators(family: str, processor: str, seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    make = matmul_graph if family == "product" else lambda rng: random_graph(rng, family)
    graphs = [make(rng) for _ in range(BATCH)]
    batch = [prepare(graph, features=FEATURES[processor]) for graph in graphs]
    inputs = [random_inputs(rng, graph) for graph in graphs]
    for graph, arrays, (actual,) in zip(graphs, inputs, results(batch, inputs), strict=True):
        expected = graph.evaluate(*arrays, precise=True)
        noise = rounding_noise(graph.evaluate(*arrays, precise=False), expected)
        compare(
            actual, expected, name=str(graph), reduction=graph.reduction_size, noise=noise
        ).raise_if_wrong()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processor", "found", "missing"), [("avx2", "ymm", "zmm"), ("sse2", "xmm", "ymm")]
)
def test_registers_have_the_processors_width(processor: str, found: str, missing: str) -> None:
    compilation = prepare(matmul_graph(Random(1)), features=FEATURES[processor])  # noqa: S311
    text = compilation.stage_text("code")
    assert found in text
    assert missing not in text
