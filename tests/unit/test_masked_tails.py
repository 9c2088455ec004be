# SPDX-License-Identifier: Apache-2.0
"""Masked remainders of vectorized loops: one instruction each, correct with both generators."""

from __future__ import annotations

import re

import pytest

import xtc
import xtc.ops as O
from xtc.codegen.llvm import Machine
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc_targets.host.description import HostDescription

X86 = "x86_64-unknown-linux-gnu"
NEST = {"C": {"i": {}, "k": {}, "i#4": "unroll", "j": "vectorize"}}
AVX2 = "-avx512f,-avxvnni"

masking = pytest.mark.skipif(
    not HostDescription.of(Machine.host()).masked_bits, reason="this processor masks no vectors"
)


def matmul_graph(columns: int, dtype: str = "float32") -> Graph:
    """Eight rows of `columns` elements, each a sum."""
    a, b = O.tensor((8, 5), dtype, name="A"), O.tensor((5, columns), dtype, name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


@pytest.mark.parametrize(
    ("cpu", "bits"), [("x86-64", 0), ("haswell", 32), ("skylake-avx512", 8), ("sapphirerapids", 8)]
)
def test_the_narrowest_masked_elements_follow_the_features(cpu: str, bits: int) -> None:
    assert HostDescription.of(Machine.of(X86, cpu, None)).masked_bits == bits


@pytest.mark.slow
@pytest.mark.parametrize(("cpu", "additions"), [("x86-64", 12), ("haswell", 4)])
def test_a_remainder_takes_one_instruction_per_row(cpu: str, additions: int) -> None:
    """Seven columns: 4 + 2 + 1 without masks. Counted in the loop over K, four rows at a time."""
    compilation = prepare(matmul_graph(7), "host", schedule=NEST, triple=X86, cpu=cpu, threads=1)
    text = compilation.stage_text("lowered")
    assert len(re.findall(r"llvm.intr.fmuladd|llvm.intr.fma\b|llvm.fadd", text)) == additions
    assert ("llvm.intr.masked.load" in text) == (additions == 4)
    assert ("llvm.intr.masked.store" in text) == (additions == 4)


@masking
@pytest.mark.slow
@pytest.mark.parametrize("features", [None, AVX2])
def test_remainders_of_every_type_are_correct(features: str | None) -> None:
    types = ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64")
    a = {t: O.tensor((8, 5), t, name=f"a_{t}") for t in types}
    b = {t: O.tensor((5, 29), t, name=f"b_{t}") for t in types}
    with O.graph(name="products") as gb:
        O.outputs(*(O.matmul(a[t], b[t], name=f"c_{t}") for t in types))
    nests = {f"c_{t}": NEST["C"] for t in types}
    xtc.compile(gb.graph, schedule=nests, features=features, in_memory=True).check()


@masking
@pytest.mark.slow
def test_remainders_in_c_are_correct() -> None:
    a, x = O.tensor((8, 5), name="A"), O.tensor((8, 5), "float64", name="X")
    n, m = O.tensor((8, 5), "int32", name="N"), O.tensor((8, 5), "int64", name="M")
    with O.graph(name="products") as gb:
        tails = [
            O.matmul(left, O.tensor((5, columns), left.dtype, name=f"b{number}"), name=f"c{number}")
            for number, (left, columns) in enumerate([(a, 13), (a, 7), (x, 7), (n, 13), (m, 7)])
        ]
        O.outputs(*tails)
    nests = {tail.name: NEST["C"] for tail in tails}
    assert "load_part_f32" in prepare(gb.graph, schedule=nests, codegen="c").stage_text("code")
    xtc.compile(gb.graph, schedule=nests, codegen="c").check()
