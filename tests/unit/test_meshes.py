# SPDX-License-Identifier: Apache-2.0
"""Meshes, and loops distributed over them: calls, data, text, IR, and refusals."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

import xtc
import xtc.ops as O
from tests.unit.mppa_nests import placed_module
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.ir.mlir import Context, Module
from xtc.ir.pipeline import run_steps
from xtc.schedule import NodeSchedule, Schedule
from xtc_targets.mppa.passes.distribute_schedules import DistributeSchedules

AXES = {"px": 1, "py": 1, "psx": 2, "psy": 8}


def matmul_graph(i: int = 4, j: int = 8, k: int = 16) -> Graph:
    a, b = O.tensor((i, k), name="A"), O.tensor((k, j), name="B")
    with O.graph(name="matmul") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


def meshed(graph: Graph, clusters: tuple[int, int] = (1, 1)) -> Schedule:
    schedule = Schedule(graph)
    memory = schedule.define_memory_mesh("memory_mesh", {"mx": clusters[0], "my": clusters[1]})
    sizes = AXES | dict(zip(AXES, clusters, strict=False))
    schedule.define_processor_mesh("processor_mesh", sizes, memory)
    return schedule


def seed() -> Schedule:
    schedule = meshed(matmul_graph())
    schedule["C"].strip_mine("i", {"i1": 2}).distribute({"i": "psx", "j": "psy"}).pack_at("j", 1)
    return schedule


def refused(call: Callable[[], object], message: str, hint: str = "") -> None:
    with pytest.raises(UserError) as caught:
        str(call())
    assert message in str(caught.value)
    assert hint in "\n".join(caught.value.hints)


class TestForms:
    def test_text(self) -> None:
        assert str(seed()).splitlines() == [
            "@memory_mesh {mx: 1, my: 1}",
            "@processor_mesh over @memory_mesh {px: 1, py: 1, psx: 2, psy: 8}",
            "C (i: 4, j: 8, k: 16 reduced)",
            "  for i in 0..4 step 2  // distribute psx",
            "    for j in 0..8  // distribute psy, pack 1",
            "      for k in 0..16",
            "        for i1 in 0..2",
            "          C",
        ]

    def test_data_is_read_back(self) -> None:
        texts = seed().texts()
        assert texts == {
            "@memory_mesh": "{mx: 1, my: 1}",
            "@processor_mesh over @memory_mesh": "{px: 1, py: 1, psx: 2, psy: 8}",
            "C": "{i: {distribute: psx}, j: {pack: [1], distribute: psy}, k: {}, i#2: {}}",
        }
        assert Schedule.of(matmul_graph(), texts).texts() == texts

    def test_yaml(self) -> None:
        text = textwrap.dedent("""\
        "@processor_mesh over @memory_mesh": {px: 2, py: 1, psx: 2, psy: 8}
        "@memory_mesh": {mx: 2, my: 1}
        C: {i: {distribute: px, shard: {0: [mx, "*"]}}, j: distribute:psy, k: {}}
        """)
        with pytest.raises(UserError, match="is over '@memory_mesh', which is not defined"):
            Schedule.of(matmul_graph(), text)
        first, second, rest = text.splitlines()
        schedule = Schedule.of(matmul_graph(), "\n".join([second, first, rest]))
        assert str(schedule).splitlines()[3:5] == [
            "  for i in 0..4  // distribute px, shard 0 [mx, *]",
            "    for j in 0..8  // distribute psy",
        ]
        assert Schedule.of(matmul_graph(), schedule.texts()).texts() == schedule.texts()

    def test_one_loop_at_a_time(self) -> None:
        schedule = meshed(matmul_graph())
        assert schedule["C"].distribute("i", "psx") is schedule["C"]
        assert schedule["C"].data == "{i: {distribute: psx}, j: {}, k: {}}"

    def test_symbols(self) -> None:
        text = prepare(matmul_graph(), schedule=seed()).stage_text("source")
        assert '@memory_mesh(shape = 1x1) {xtc.axes = ["mx", "my"]}' in text
        assert "@processor_mesh(shape = 1x1x2x8)" in text
        assert "xtc.memory = @memory_mesh" in text


class TestMeshes:
    def test_leading_axes_have_the_memories_sizes(self) -> None:
        refused(
            lambda: meshed_sizes({"mx": 1, "my": 5}, {"px": 1, "py": 4, "psx": 16}),
            "axis 'py' of processor mesh 'p' has size 4, but 'my' of memory mesh 'm' has 5",
            "give 'py' the size 5",
        )
        refused(
            lambda: meshed_sizes({"mx": 1, "my": 5}, {"px": 1}),
            "processor mesh 'p' has 1 axes, memory mesh 'm' 2",
        )

    def test_names(self) -> None:
        refused(
            lambda: meshed_sizes({"x": 1}, {"x": 1}),
            "processor mesh 'p' has an axis 'x', as memory mesh 'm' does",
        )
        refused(
            lambda: Schedule(matmul_graph()).define_memory_mesh("a b", {"x": 1}),
            "'a b' cannot be the name of a memory mesh",
        )
        refused(
            lambda: Schedule(matmul_graph()).define_memory_mesh("m", {"a-b": 1}),
            "'a-b' cannot be the name of an axis of memory mesh 'm'",
        )

    @pytest.mark.parametrize(
        ("sizes", "message"),
        [
            ({"x": 0}, "axis 'x' of memory mesh 'm' has size 0"),
            ({}, "memory mesh 'm' has 0 axes, not from 1 to 8"),
            ({"x": "2"}, "the number of 'x' is '2', not an integer"),
        ],
    )
    def test_sizes(self, sizes: dict[str, Any], message: str) -> None:
        refused(lambda: Schedule(matmul_graph()).define_memory_mesh("m", sizes), message)

    def test_a_schedule_has_one_mesh_of_each_kind(self) -> None:
        schedule = meshed(matmul_graph())
        refused(
            lambda: schedule.define_memory_mesh("other", {"x": 1}),
            "a memory mesh is already defined: 'memory_mesh'",
        )
        refused(
            lambda: schedule.define_processor_mesh("other", {"x": 1}, schedule.meshes[0]),
            "a processor mesh is already defined: 'processor_mesh'",
        )
        refused(
            lambda: Schedule(matmul_graph()).define_processor_mesh(
                "p", {"x": 1}, schedule.meshes[0]
            ),
            "which is not this schedule's memory mesh",
            "pass the mesh that define_memory_mesh returned",
        )

    def test_keys_of_data(self) -> None:
        refused(
            lambda: Schedule.of(matmul_graph(), {"@p around @m": {"x": 1}}),
            "'@p around @m' does not name a mesh",
        )
        refused(lambda: Schedule.of(matmul_graph(), {"@m": [1]}), "mesh 'm' is not sizes by axis")


def meshed_sizes(memory: dict[str, int], processors: dict[str, int]) -> None:
    schedule = Schedule(matmul_graph())
    schedule.define_processor_mesh("p", processors, schedule.define_memory_mesh("m", memory))


REFUSALS: dict[str, tuple[Callable[[NodeSchedule], object], str, str]] = {
    "unknown axis": (
        lambda c: c.distribute("i", "pxs"),
        "'i' of C cannot be distributed over 'pxs': processor mesh 'processor_mesh' has no such "
        "axis",
        "did you mean",
    ),
    "an axis of memories": (
        lambda c: c.distribute("i", "mx"),
        "'i' of C cannot be distributed over 'mx', an axis of memory mesh 'memory_mesh'",
        "over 'px', its processors",
    ),
    "unknown loop": (lambda c: c.distribute("l", "px"), "C has no loop 'l'", ""),
    "a reduction": (
        lambda c: c.distribute("k", "psx"),
        "'k' of C cannot be distributed: 'k' is reduced",
        "distribute an axis of the result",
    ),
    "a loop twice": (
        lambda c: c.distribute("i", "psx").distribute("i", "psy"),
        "'i' of C is already distributed over 'psx'",
        "",
    ),
    "an axis twice": (
        lambda c: c.distribute({"i": "psx", "j": "psx"}),
        "'i' and 'j' of C are both distributed over 'psx'",
        "an axis takes one loop",
    ),
    "an axis of the operator twice": (
        lambda c: (
            c.strip_mine("i", {"i1": 2})
            .interchange(["i", "i1", "j", "k"])
            .distribute({"i": "psx", "i1": "psy"})
        ),
        "axis 'i' of C is distributed twice, over 'psx' and 'psy'",
        "only the outer of the two loops",
    ),
    "memories inside of another loop": (
        lambda c: c.strip_mine("i", {"i1": 2}).distribute("i1", "px"),
        "'i1' of C cannot be distributed over 'px' inside 'i'",
        "distribute 'i' instead",
    ),
    "processors with a loop between": (
        lambda c: c.interchange(["i", "k", "j"]).distribute({"i": "psx", "j": "psy"}),
        "'i' and 'j' of C cannot be distributed over processors of one memory with 'k' between",
        "so that they are adjacent",
    ),
    "vectors": (
        lambda c: c.interchange(["k", "i", "j"]).vectorize(["j"]).distribute("j", "psy"),
        "'j' of C is distributed and vectorized, unrolled or parallelized",
        "strip-mine it",
    ),
    "segments": (
        lambda c: c.split("i", {"a": 0, "b": 2})["a"].distribute("j", "psy"),
        "'j' of C cannot be distributed inside a segment",
        "distribute loops outside of the split",
    ),
    "buffers between": (
        lambda c: c.distribute({"i": "psx", "j": "psy"}).buffer_at("i"),
        "'i' and 'j' of C are distributed as one loop; nothing can be put between them",
        "put it inside 'j'",
    ),
    "no mapping": (lambda c: c.distribute("i"), "takes axes of the processor mesh by loop", ""),
    "a buffer of too few dimensions": (
        lambda c: c.distributed_buffer_at("i", 0, ["mx"]),
        "operand 0 of C has 2 dimensions, but 1 are distributed",
        "or '*', for each dimension",
    ),
    "a buffer of no operand": (
        lambda c: c.distributed_buffer_at("i", 2, ["mx", "*"]),
        "a distributed buffer at 'i': C has no operand 2",
        "",
    ),
    "a buffer over an unknown axis": (
        lambda c: c.distributed_buffer_at("i", 0, ["px", "*"]),
        "operand 0 of C cannot be distributed over 'px': memory mesh 'memory_mesh' has no such "
        "axis",
        "mx",
    ),
    "a buffer on processors": (
        lambda c: c.distribute("i", "psx").distributed_buffer_at("i", 0, ["mx", "*"]),
        "'i' of C runs on the processors of one memory",
        "name a loop outside them",
    ),
    "a buffer over an axis twice": (
        lambda c: c.distributed_buffer_at("i", 0, ["mx", "mx"]),
        "operand 0 of C is distributed over an axis twice",
        "",
    ),
    "a buffer twice": (
        lambda c: c.distributed_buffer_at("i", 0, ["*", "*"]).distributed_buffer_at(
            "i", 0, ["*", "*"]
        ),
        "operand 0 of C is distributed at 'i' twice",
        "",
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_refusals(what: str) -> None:
    call, message, hint = REFUSALS[what]
    schedule = meshed(matmul_graph())
    refused(lambda: call(schedule["C"]), message, hint)


def test_distribution_requires_a_mesh() -> None:
    refused(
        lambda: Schedule(matmul_graph())["C"].distribute("i", "px"),
        "'i' of C is distributed, but no processor mesh is defined",
        "schedule.define_processor_mesh(...) first",
    )


def test_a_shard_in_another_memory_is_refused() -> None:
    schedule = meshed(matmul_graph(), (2, 1))
    refused(
        lambda: schedule["C"].distributed_buffer_at("i", 0, ["mx", "*"]),
        "operand 0 of C is distributed over 'mx', but no loop over 'px'",
        "distribute the loop that indexes it over 'px'",
    )
    schedule = meshed(matmul_graph(), (2, 1))
    schedule["C"].distribute("i", "px").distributed_buffer_at("i", 0, ["*", "mx"])
    refused(
        lambda: applied(schedule),
        "dimension 1 of operand 0 of C cannot be distributed over 'mx': 'i', which is distributed "
        "over 'px', does not index it alone",
        "write '*' for the dimension",
    )


def applied(schedule: Schedule, clusters: int = 5, pes: int = 16) -> str:
    with placed_module(schedule.graph, schedule) as module:
        run_steps(module, (DistributeSchedules(clusters, pes), "canonicalize", "cse"))
        return str(module)


def test_a_mesh_larger_than_the_machine_is_refused() -> None:
    schedule = meshed(matmul_graph(), (2, 3))
    schedule["C"].distribute("i", "px")
    refused(
        lambda: applied(schedule),
        "the schedule of C is for 6 clusters, of which there are 5",
        "sizes whose product is 5 at most",
    )
    refused(
        lambda: applied(seed(), pes=8),
        "the schedule of C is for 16 PEs of a cluster, of which there are 8",
    )


def test_memories_share_an_axis_once() -> None:
    schedule = meshed(matmul_graph(), (2, 2))
    node = schedule["C"].strip_mine("i", {"i1": 2}).interchange(["i", "i1", "j", "k"])
    node.distribute({"i": "px", "i1": "py"})
    refused(
        lambda: applied(schedule),
        "axis 'i' of C is distributed twice, over 'px' and 'py'",
        "only the outer of the two loops",
    )


def test_the_host_has_threads_instead_of_meshes() -> None:
    schedule = Schedule(matmul_graph())
    schedule["C"].parallelize(["i"])
    refused(
        lambda: applied(schedule),
        "'i' of C is parallelized, but the target of C has no threads",
        "distribute it over an axis of a processor mesh",
    )


def test_the_host_has_no_mesh() -> None:
    refused(
        lambda: xtc.compile(matmul_graph(), schedule=seed()),
        "'i' of C is distributed, but the target of C has no mesh",
        "place C on a device that has one",
    )


def test_unused_meshes_have_no_effect() -> None:
    schedule = meshed(matmul_graph())
    schedule["C"].interchange(["j", "i", "k"])
    with xtc.compile(matmul_graph(), schedule=schedule, in_memory=True) as module:
        module.check()


def test_iterations_are_distributed_evenly() -> None:
    schedule = meshed(matmul_graph(i=23), (1, 5))
    schedule["C"].distribute({"i": "py", "j": "psy"})
    text = applied(schedule)
    # Four iterations on each of five clusters, then the other three.
    assert text.count("in (5)") == 1
    assert text.count("in (3)") == 1


def test_each_memory_has_one_shard() -> None:
    schedule = meshed(matmul_graph(i=10), (1, 5))
    schedule["C"].distribute({"i": "py", "j": "psy"}).distributed_buffer_at("i", 0, ["my", "*"])
    text = applied(schedule)
    assert "memory_space = 2 : i64} : tensor<2x16xf32>" in text


GRIDS = {
    "{xtc.axes = 3, xtc.memory = @p}": "shard.grid '@p' has 2 axes, but xtc.axes does not name",
    '{xtc.axes = ["x", "x"], xtc.memory = @p}': "shard.grid '@p' has 2 axes, but xtc.axes does",
    '{xtc.axes = ["x", "y"], xtc.memory = "m"}': 'is "m", not a mesh of the module',
    '{xtc.axes = ["x", "y"], xtc.memory = @m}': "processor mesh '@p' is over '@m', which is not",
    '{xtc.axes = ["x", "y"], xtc.memory = @p}': "'p' has the name of the memory mesh",
}


@pytest.mark.parametrize("attributes", GRIDS)
def test_invalid_grids_are_refused(attributes: str) -> None:
    text = f"""
    shard.grid @p(shape = 2x8) {attributes}
    func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {{
      %r = linalg.exp {{loop.dims = ["i"], loop.schedule = "{{i: {{distribute: x}}}}"}}
          ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }}"""
    with Context():
        module = Module.parse(text).operation
        refused(lambda: run_steps(module, (DistributeSchedules(),)), GRIDS[attributes])


@pytest.mark.parametrize("name", ["shard", "spread"])
def test_data_names_operands_by_number(name: str) -> None:
    mesh = {"@m": {"mx": 2}, "@p over @m": {"px": 2}}
    loops = {"i": {"distribute": "px", name: {0: ["mx", "*"]}}, "j": {}, "k": {}}
    schedule = xtc.Schedule.of(matmul_graph(), {**mesh, "C": loops})
    assert "shard: {0: ['mx', '*']}" in schedule["C"].data
