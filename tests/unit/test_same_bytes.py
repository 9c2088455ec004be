# SPDX-License-Identifier: Apache-2.0
"""Equal graphs have byte-identical code in every compilation and process."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

import xtc
from tests.unit.random_graphs import graphs
from xtc.driver import prepare

pytestmark = pytest.mark.slow

COUNT = max(10, settings().max_examples // 4)  # 500 graphs in a long run


def objects(graph: xtc.Graph, **options: Any) -> tuple[bytes, ...]:
    with xtc.compile(graph, in_memory=True, **options) as module:
        return module.artifact.objects


@settings(max_examples=COUNT)
@given(graphs())
def test_random_graphs_have_deterministic_code(graph: xtc.Graph) -> None:
    assert objects(graph) == objects(graph)


@settings(max_examples=COUNT)
@given(graphs())
def test_random_graphs_have_deterministic_c_code(graph: xtc.Graph) -> None:
    compilation = prepare(graph, codegen="c")
    assert compilation.stage_text("code") == compilation.stage_text("code")
