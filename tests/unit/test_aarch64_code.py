# SPDX-License-Identifier: Apache-2.0
"""Code for AArch64, run by an emulator where that is installed: pip install unicorn."""

from __future__ import annotations

import re

import pytest

import xtc.ops as O
from tests.unit.ops_support import data
from xtc.driver import prepare
from xtc.driver.arguments import empty_outputs
from xtc.evaluate import compare, rounding_noise
from xtc.graph.graph import Graph
from xtc.ir import mlir
from xtc.ir.pipeline import PassRunner

TRIPLE = "aarch64-linux-gnu"
CASES = [
    ("float32", {}),
    ("float64", {}),
    ("float16", {}),
    ("bfloat16", {}),
    ("int8", {}),
    ("int16", {}),
    ("int8", {"cpu": "apple-m1"}),  # sdot
]


def matmul_graph(dtype: str, m: int, n: int, k: int) -> Graph:
    a, b = O.tensor((m, k), dtype, name="A"), O.tensor((k, n), dtype, name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


def convolution() -> Graph:
    x, w = O.tensor((1, 9, 9, 8), name="X"), O.tensor((3, 3, 8, 16), name="W")
    with O.graph(name="convolution") as gb:
        O.relu(O.conv2d(x, w, name="Y"), name="R")
    return gb.graph


def run(graph: Graph, options: dict[str, str]) -> None:
    pytest.importorskip("unicorn", reason="pip install unicorn")
    from tests.unit.aarch64_emulator import Emulator

    compilation = prepare(graph, triple=TRIPLE, threads=1, **options)
    with mlir.Context():
        module = mlir.Module.parse(compilation.source()).operation
        PassRunner().run(module, compilation.target.pipeline(compilation.options))
        artifact = compilation.target.build_in_memory(
            module, compilation.request(), compilation.options
        )
    inputs = [data(t.type.sizes, t.element.name, n) for n, t in enumerate(graph.inputs)]
    outputs = empty_outputs(artifact.manifest)
    Emulator(artifact.objects[0]).call(graph.name, [*inputs, *outputs])
    expected = graph.evaluate(*inputs, precise=True)
    noise = rounding_noise(graph.evaluate(*inputs, precise=False), expected)
    compare(
        outputs[0], expected, name=graph.name, reduction=graph.reduction_size, noise=noise
    ).raise_if_wrong()


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "options"), CASES)
@pytest.mark.parametrize("sizes", [(24, 40, 32), (17, 29, 41), (5, 64, 67)])
def test_products(dtype: str, options: dict[str, str], sizes: tuple[int, int, int]) -> None:
    run(matmul_graph(dtype, *sizes), options)


@pytest.mark.slow
def test_convolution() -> None:
    run(convolution(), {})


def code(graph: Graph, **options: str) -> str:
    return prepare(graph, triple=TRIPLE, threads=1, **options).stage_text("code")


@pytest.mark.slow
def test_multiply_adds_are_fused_and_on_vectors() -> None:
    text = code(matmul_graph("float32", 24, 40, 32))
    assert len(re.findall(r"fmla\s+v\d+\.4s, v\d+\.4s, v\d+\.", text)) >= 16
    assert set(re.findall(r"\bbl\s+(\w+)", text)) <= {"memset", "memcpy", "malloc", "free"}
