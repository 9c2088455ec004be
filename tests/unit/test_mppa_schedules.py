# SPDX-License-Identifier: Apache-2.0
"""Distributed schedules on the simulator, with deferred transfers and shuffled PEs."""

from __future__ import annotations

from random import Random

import pytest

import xtc
import xtc.ops as O
from tests.unit.random_operators import FAMILIES, random_graph, random_inputs
from tests.unit.test_mesh_random import random_schedule
from xtc.core.errors import UserError
from xtc.evaluate import compare
from xtc.graph.graph import Graph
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.mppa.description import COOLIDGE_V2

pytestmark = pytest.mark.slow

DISORDER = MppaOptions(sim_schedule="shuffled", dma_mode="deferred")


def matmul_graph(mppa: MppaDevice) -> Graph:
    a = O.tensor((4, 16), name="A")
    b = O.tensor((16, 8), name="B", device=mppa)
    with O.graph(name="matmul") as gb:
        O.matmul(a, b, name="C", device=mppa)
    return gb.graph


def seed(graph: Graph, clusters: int = 1) -> xtc.Schedule:
    schedule = xtc.Schedule(graph)
    memory = schedule.define_memory_mesh("memory_mesh", {"mx": clusters, "my": 1})
    axes = {"px": clusters, "py": 1, "psx": 2, "psy": 8}
    schedule.define_processor_mesh("processor_mesh", axes, memory)
    return schedule


def test_a_packed_operand_is_one_transfer_for_all_pes() -> None:
    with MppaDevice(DISORDER) as mppa:
        graph = matmul_graph(mppa)
        schedule = seed(graph)
        node = schedule["C"].strip_mine("i", {"i1": 2})
        node.distribute({"i": "psx", "j": "psy"}).pack_at("j", 1)
        with xtc.compile(graph, target=mppa, schedule=schedule) as module:
            module.check()
            counters = mppa.counters()
    assert counters["mppa.DMA_GET_OPS.cluster.sum.pe.sum"] == 1
    assert counters["mppa.DMA_GET_BYTES.cluster.sum.pe.sum"] == 16 * 8 * 4
    # A separate kernel writes zeros to C.
    assert counters["mppa.LAUNCHES.cluster.max.pe.max"] == 2


def test_each_memory_gets_its_shard_once() -> None:
    with MppaDevice(DISORDER) as mppa:
        graph = matmul_graph(mppa)
        schedule = seed(graph, clusters=4)
        schedule["C"].distribute({"i": "px", "j": "psy"}).distributed_buffer_at("i", 0, ["mx", "*"])
        with xtc.compile(graph, target=mppa, schedule=schedule) as module:
            module.check()
            counters = mppa.counters()
            assert module.schedule.texts() == schedule.texts()
    for cluster in range(4):
        assert counters[f"mppa.DMA_GET_BYTES.cluster.{cluster}.pe.sum"] == 16 * 4
    assert counters["mppa.DMA_GET_BYTES.cluster.4.pe.sum"] == 0


def test_a_matmul_without_a_schedule_approaches_the_modelled_peak() -> None:
    with MppaDevice() as mppa:
        a, b = (O.tensor((512, 512), name=name, device=mppa) for name in "AB")
        with O.graph(name="matmul") as gb:
            O.matmul(a, b, name="C", device=mppa)
        with xtc.compile(gb.graph, target=mppa) as module:
            module.check()
            counters = mppa.counters()
    peak = COOLIDGE_V2.rate("float32") * COOLIDGE_V2.clusters * COOLIDGE_V2.pes
    launches = counters["mppa.LAUNCHES.cluster.max.pe.max"]
    assert 512**3 * launches / peak / counters["modelled.mppa.CYCLES"] > 0.8


@pytest.mark.parametrize("family", FAMILIES)
def test_random_schedules(family: str) -> None:
    rng = Random(list(FAMILIES).index(family))  # noqa: S311  data of a test
    done = 0
    while done < 3:
        graph = random_graph(rng, family)
        try:
            schedule = random_schedule(rng, graph)
        except UserError:
            continue
        inputs = random_inputs(rng, graph)
        with (
            MppaDevice(DISORDER) as mppa,
            xtc.compile(graph, target=mppa, schedule=schedule) as module,
        ):
            computed = module(*inputs)
        expected = graph.evaluate(*inputs, precise=True)
        reduction = max(1, graph.reduction_size)
        compare(computed, expected, name="C", reduction=reduction).raise_if_wrong()
        done += 1


def test_a_loop_over_memories_is_moved_out_of_a_sequential_one() -> None:
    """Each memory runs the loop over K, with the tiles packed in each iteration."""
    with MppaDevice(DISORDER) as mppa:
        graph = matmul_graph(mppa)
        schedule = seed(graph, clusters=2)
        node = schedule["C"].strip_mine("k", {"k1": 4}).interchange(["k", "i", "j", "k1"])
        node.distribute({"i": "px", "j": "psy"}).pack_at("k", 1)
        assert node.loops == ("k", "i", "j", "k1")
        assert [loop.name for loop in node.nest.loops] == ["i", "k", "j", "k1"]
        assert "'i' runs over memories: it is moved outside 'k'" in node.nest.notes
        with xtc.compile(graph, target=mppa, schedule=schedule) as module:
            module.check()
            counters = mppa.counters()
    # Each of the two memories has two rows, and packs B for each.
    assert counters["mppa.DMA_GET_BYTES.cluster.sum.pe.sum"] == 4 * 16 * 8 * 4
