# SPDX-License-Identifier: Apache-2.0
"""Results that overwrite operands: equal bytes for random graphs, and less memory."""

from __future__ import annotations

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.arena_graphs import arena_graph
from xtc.ir.mlir import Operation
from xtc_targets.host.passes import overwrite_operands
from xtc_targets.host.passes.overwrite_operands import OverwriteOperands

pytestmark = pytest.mark.slow


def _run(graph: xtc.Graph, threads: int = 1) -> tuple[list[bytes], int]:
    """The bytes of all results, and those of the arena."""
    rng = np.random.default_rng(1)
    inputs = [rng.random(t.type.sizes, np.float32) - np.float32(0.5) for t in graph.inputs]
    with xtc.compile(graph, in_memory=True, threads=threads, opt_level=0) as module:
        found = module(*inputs)
        arena = int(module.artifact.manifest.toolchain.get("arena_bytes", 0))
    results = found if isinstance(found, tuple) else (found,)
    return [np.asarray(result).tobytes() for result in results], arena


def _apart(
    graph: xtc.Graph, patch: pytest.MonkeyPatch, threads: int = 1
) -> tuple[list[bytes], int]:
    """The same with a separate buffer for each result."""
    with patch.context() as patched:
        patched.setattr(OverwriteOperands, "run", _nothing)
        return _run(graph, threads)


def _nothing(_: OverwriteOperands, module: Operation) -> None:
    """Change nothing."""


def _rows(size: int) -> xtc.Graph:
    """Normalized rows, distributed over threads, and sums whose operands die."""
    x, y = O.tensor((size, 64), name="x"), O.tensor((size, 64), name="y")
    with O.graph(name="rows") as gb:
        a = O.softmax(O.transpose(O.transpose(x)))
        for _ in range(20):
            a = O.add(O.softmax(O.mul(a, y)), O.reduce_max(a, axes=(0,), keepdims=True))
        O.outputs(a, O.reduce_sum(a, axes=(0,)))
    return gb.graph


def test_random_graphs_give_the_same_bytes(is_long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(300 if is_long else 2):
        threads = 1 + seed % 2
        graph = arena_graph(seed)
        results, arena = _run(graph, threads)
        others, most = _apart(graph, monkeypatch, threads)
        assert results == others, seed
        assert arena <= most, seed


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_normalized_in_place(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    results, arena = _run(_rows(1024), threads)
    others, most = _apart(_rows(1024), monkeypatch, threads)
    assert results == others
    assert arena < most


def test_overwriting_live_operands_would_change_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = O.tensor((48, 48), name="x"), O.tensor((48, 48), name="y")
    with O.graph(name="product") as gb:
        O.reduce_max(O.matmul(O.softmax(x), O.softmax(y)), axes=(0,))
    expected, _ = _run(gb.graph)
    monkeypatch.setattr(overwrite_operands, "come_before", lambda *_: True)
    assert _run(gb.graph)[0] != expected
