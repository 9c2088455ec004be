# SPDX-License-Identifier: Apache-2.0
"""Random schedules that distribute random operators never change a result."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
from tests.unit.mppa_nests import on_the_host, placed_module
from tests.unit.random_operators import FAMILIES, random_graph, random_inputs
from xtc.core.errors import UserError
from xtc.evaluate import compare
from xtc.graph.graph import Graph
from xtc.ir.mlir import Operation, all_operations
from xtc.ir.pipeline import run_steps
from xtc_targets.mppa import MppaOptions
from xtc_targets.mppa.pipeline import scheduled

COUNT = max(3, settings().max_examples // 16)


def random_schedule(rng: Random, graph: Graph) -> xtc.Schedule:
    """Some loops over clusters, some over PEs, tiles and packed operands, in a legal order."""
    schedule = xtc.Schedule(graph)
    sizes = [*rng.choice(((1, 1), (1, 2), (2, 2), (5, 1), (1, 3))), *rng.choice(((1, 3), (4, 2)))]
    memory = schedule.define_memory_mesh("m", {"mx": sizes[0], "my": sizes[1]})
    axes = dict(zip(("px", "py", "psx", "psy"), sizes, strict=True))
    schedule.define_processor_mesh("p", axes, memory)
    node = schedule["C"]
    loops = {axis.name: not axis.reduction for axis in node.axes}
    for axis in node.axes:
        if axis.size > 2 and rng.random() < 0.6:
            node.strip_mine(axis.name, {f"{axis.name}1": rng.randrange(1, axis.size)})
            loops[f"{axis.name}1"] = not axis.reduction
    free = [name for name, parallel in loops.items() if parallel and not name.endswith("1")]
    rng.shuffle(free)
    leading, trailing = free[: rng.randrange(3)], free[2 : 2 + rng.randrange(3)]
    rest = [name for name in loops if name not in (*leading, *trailing)]
    order = [*leading, *trailing, *rest]
    if order != list(node.loops):
        node.interchange(order)
    places = dict(zip([*leading, *trailing], _places(len(leading), len(trailing)), strict=True))
    if places:
        node.distribute(places)
    for operand in range(node.operands):
        if rng.random() < 0.4 and order:
            node.pack_at(rng.choice(order), operand)
    if rng.random() < 0.3 and order:
        node.buffer_at(rng.choice(order))
    schedule.texts()  # refused if it is not legal
    return schedule


def _places(leading: int, trailing: int) -> list[str]:
    return [*("px", "py")[:leading], *("psx", "psy")[:trailing]]


def check_levels(graph: Graph, schedule: xtc.Schedule) -> None:
    """Check that loops over clusters contain those over PEs, which contain the computation, and no
    others."""
    with placed_module(graph, schedule) as module:
        run_steps(module, scheduled(MppaOptions()).steps)
        for op in all_operations(module):
            levels = [str(loop.attributes["mapping"]) for loop in around(op)]
            assert len(levels) <= 2
            if op.name.startswith("linalg.") and op.name != "linalg.yield":
                assert [level[6:11] for level in levels] == ["threa", "block"], levels


def around(op: Operation) -> list[Operation]:
    """The parallel loops around an operation, innermost first."""
    found = []
    while (op := op.parent) is not None:
        if op.name == "scf.forall":
            found.append(op)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_distribution_changes_no_result(family: str) -> None:
    outcomes: Counter[str] = Counter()

    @settings(max_examples=COUNT)
    @given(st.integers(0, (1 << 32) - 1))
    def property_holds(seed: int) -> None:
        rng = Random(seed)  # noqa: S311  data of a test
        graph = random_graph(rng, family)
        try:
            schedule = random_schedule(rng, graph)
        except UserError:
            outcomes["refused"] += 1
            return
        outcomes["tried"] += 1
        check_levels(graph, schedule)
        inputs = random_inputs(rng, graph)
        with (
            on_the_host(scheduled(MppaOptions()).steps),
            xtc.compile(graph, schedule=schedule, in_memory=True, opt_level=0) as module,
        ):
            computed = module(*inputs)
        expected = graph.evaluate(*inputs, precise=True)
        reduction = max(1, graph.reduction_size)
        compare(computed, expected, name="C", reduction=reduction).raise_if_wrong()

    property_holds()
    assert outcomes["tried"] > 0
