# SPDX-License-Identifier: Apache-2.0
"""Unrolled code grows with the factor only: copies contain no loops of one iteration."""

from __future__ import annotations

import re

import pytest

import xtc
import xtc.ops as O


def matmul() -> xtc.Graph:
    a, b = O.tensor((8, 512), name="A"), O.tensor((512, 64), name="B")
    with O.graph(name="f") as graph:
        O.matmul(a, b, name="C")
    return graph.graph


@pytest.mark.slow
@pytest.mark.parametrize("factor", [8, 64, 128])
def test_a_copy_has_one_loop(factor: int) -> None:
    schedule = {"C": ["i", f"k=unroll:{factor}", "j"]}
    with xtc.compile(matmul(), schedule=schedule, in_memory=True) as module:
        lowered = module.ir("lowered")
        module.check()
    # A loop over j for each copy, one each over i and k, and two that write zeros.
    assert len(re.findall(r"llvm\.cond_br", lowered)) <= factor + 4
    assert lowered.count("loop_annotation = #loop_annotation") >= (factor if factor > 16 else 0)
