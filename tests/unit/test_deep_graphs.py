# SPDX-License-Identifier: Apache-2.0
"""Chains of more operators than Python's recursion limit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O

pytestmark = pytest.mark.slow

DEEP = sys.getrecursionlimit() // 2 + 50  # pairs of operators


@pytest.fixture(scope="module")
def chain() -> xtc.Graph:
    x = O.tensor((2, 3), name="X")
    with O.graph(name="chain") as gb:
        y = x
        for _ in range(DEEP):
            y = O.neg(O.maximum(y, x))
    return gb.graph


def test_deep_graphs_are_written_and_read(chain: xtc.Graph, tmp_path: Path) -> None:
    chain.save(tmp_path / "chain.yaml")
    assert xtc.Graph.load(tmp_path / "chain.yaml") == chain


@pytest.mark.parametrize("codegen", ["llvm", "c"])
def test_deep_graphs_are_compiled(chain: xtc.Graph, codegen: str) -> None:
    with xtc.compile(chain, codegen=codegen, opt_level=0, in_memory=True) as module:
        module.check(np.arange(6, dtype=np.float32).reshape(2, 3) - 3)
