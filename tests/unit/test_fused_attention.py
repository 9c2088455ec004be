# SPDX-License-Identifier: Apache-2.0
"""Attention whose scores stay in a cache gives the same bits as without fusion, if the order of
sums is fixed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc_targets.host.passes import fuse_attention
from xtc_targets.host.passes.relax_reductions import RelaxReductions

HEADS, PART = 3, 16


def _attention(
    queries: int, keys: int, *, masked: bool = False, element: str = "float32", heads: int = HEADS
) -> Graph:
    """Scaled attention as in networks: heads split from the width, and merged again."""

    def split(tokens: int, name: str) -> xtc.Tensor:
        x = O.tensor((tokens, heads * PART), element, name=name)
        return O.transpose(O.reshape(x, (tokens, heads, PART)), (1, 0, 2))

    with O.graph(name="attention") as gb:
        q, k, v = split(queries, "q"), split(keys, "k"), split(keys, "v")
        scores = O.mul(O.matmul(q, k, transpose_b=True), 1 / math.sqrt(PART))
        if masked:
            scores = O.add(scores, O.tensor((queries, keys), element, name="mask"))
        y = O.matmul(O.softmax(scores), v)
        O.reshape(O.transpose(y, (1, 0, 2)), (queries, heads * PART), name="y")
    return gb.graph


def _is_one_nest(graph: Graph, **options: Any) -> bool:
    """Whether no tensor holds the scores of all queries."""
    text = prepare(graph, **options).stage_text("scheduled")
    return "tensor<3x67x200xf32>" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("codegen", "queries", "element", "heads"),
    [
        ("llvm", 32, "float16", 3),
        ("llvm", 1, "float32", 24),
        ("c", 32, "float32", 3),
    ],
)
def test_attention_is_correct(codegen: str, queries: int, element: str, heads: int) -> None:
    graph = _attention(queries, 200, masked=True, element=element, heads=heads)
    with xtc.compile(graph, codegen=codegen) as module:
        module.check()


@pytest.mark.slow
@pytest.mark.parametrize("codegen", ["llvm", "c"])
def test_tiles_change_no_bits(codegen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a remainder of queries; sums keep their order.

    LLVM would choose an order for the sums of the softmax in each loop, by the processor's vectors.
    """
    monkeypatch.setattr(RelaxReductions, "run", lambda self, module: None)
    graph = _attention(67, 200, masked=True)
    assert _is_one_nest(graph, threads=2)
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(x.type.sizes).astype(np.float32) for x in graph.inputs]
    with xtc.compile(graph, codegen=codegen, threads=2, cache=False) as module:
        module.check()
        tiled = np.asarray(module(*arrays))
    monkeypatch.setattr(fuse_attention, "_queries", lambda members, options: 0)
    assert not _is_one_nest(graph, threads=2)
    with xtc.compile(graph, codegen=codegen, threads=2, cache=False) as module:
        assert np.array_equal(np.asarray(module(*arrays)), tiled)
