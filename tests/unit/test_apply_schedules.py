# SPDX-License-Identifier: Apache-2.0
"""Every primitive changes the IR: a primitive without effect would be an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.random_nests import random_data
from tests.unit.random_operators import FAMILIES, random_graph
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.ir import mlir
from xtc.ir.mlir import all_operations
from xtc.ir.pipeline import run_steps
from xtc.loops.plan import Body, Loops, Plan, Split, plan_nest
from xtc_passes.tensor.apply_schedules import ApplySchedules


def scheduled_operations(graph: Graph, schedule: object) -> list[tuple[str, list[str], list[str]]]:
    """Name, attributes and loop paths around, of every operation after apply-schedules."""
    with mlir.Context():
        text = prepare(graph, schedule=schedule).source()
        module = mlir.Module.parse(text).operation
        run_steps(module, [ApplySchedules()])
        return [(op.name, list(op.attributes), _paths(op)) for op in all_operations(module)]


def _paths(op: mlir.Operation) -> list[str]:
    """Paths of the loops around, from the innermost."""
    found = []
    around = op.parent
    while around is not None:
        found += [name for name in around.attributes if name.startswith("./")]
        around = around.parent
    return found


def expected_trace(plan: Plan) -> Counter[str]:
    """The expected marks in the IR, with their counts."""
    counts: Counter[str] = Counter()
    for node in walk(plan):
        if isinstance(node, Body):
            counts["scalar" if node.vector == 0 else "vector"] += 1
        elif isinstance(node, Loops):
            counts["buffers"] += sum(len(loop.pack) + loop.buffer for loop in node.loops)
            is_written = not node.runs_once or node.partial
            if is_written or any(loop.fuse for loop in node.loops):
                counts.update(f"./{loop.name}" for loop in node.loops)
                counts["unrolled"] += sum(
                    1 for loop in node.loops if loop.unroll and node.trips(loop) > 1
                )
    return +counts


def walk(plan: Plan) -> Iterator[Plan]:
    yield plan
    for part in plan.parts if isinstance(plan, Split) else ():
        yield from walk(part)
    if isinstance(plan, Loops):
        yield from walk(plan.inner)


def actual_trace(operations: list[tuple[str, list[str], list[str]]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for name, attributes, _ in operations:
        counts["scalar"] += "__xtc_id_C_" in attributes
        counts["vector"] += name == "vector.transfer_write"
        counts["buffers"] += name == "bufferization.alloc_tensor"
        counts["unrolled"] += "xtc.unroll" in attributes
        counts.update(attribute for attribute in attributes if attribute.startswith("./"))
    return +counts


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@given(seed=st.integers(0, (1 << 32) - 1))
def test_the_ir_has_every_annotation_of_a_nest(family: str, seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    graph = random_graph(rng, family)
    try:
        data = random_data(rng, xtc.Schedule(graph)["C"].space)
        schedule = xtc.Schedule.of(graph, {"C": data})
    except UserError:
        return
    plan = plan_nest(schedule["C"].nest, "C")
    assert actual_trace(scheduled_operations(graph, schedule)) == expected_trace(plan)


def matmul_and_sum(*, again: bool = False) -> Graph:
    """C = P + c; with `again`, P is a result as well."""
    a, b = O.tensor((8, 6), name="a"), O.tensor((6, 4), name="b")
    with O.graph(name="f") as gb:
        p = O.matmul(a, b, name="P")
        total = O.add(p, O.tensor((4,), name="c"), name="C")
        O.outputs(*([total, p] if again else [total]))
    return gb.graph


def places_of(graph: Graph, attribute: str) -> list[list[str]]:
    """Loops around each operation with the attribute, the operand 0 of C being fused at i."""
    found = scheduled_operations(graph, {"C": {"i": {"fuse": 0}, "j": {}}})
    return [paths for _, attributes, paths in found if attribute in attributes]


@pytest.mark.parametrize("step", ["__xtc_id_P_", "__xtc_id_P.init_"])
def test_a_fused_node_is_moved(step: str) -> None:
    assert places_of(matmul_and_sum(), step) == [["./i"]]


@pytest.mark.parametrize("step", ["__xtc_id_P_", "__xtc_id_P.init_"])
def test_a_fused_node_with_other_readers_is_also_computed_in_place(step: str) -> None:
    assert places_of(matmul_and_sum(again=True), step) == [[], ["./i"]]
