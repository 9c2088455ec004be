# SPDX-License-Identifier: Apache-2.0
"""Default distribution over clusters and PEs agrees with NumPy, on copies in local memory.

Loops over clusters and PEs run in order on the host here, in its memory.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.c_support import TYPES, every_operator
from tests.unit.mppa_nests import TO_MEMREFS, on_the_host, placed_module
from tests.unit.random_graphs import graphs, inputs_of
from tests.unit.random_operators import FAMILIES, random_graph, random_inputs
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.graph import Graph
from xtc.ir.mlir import MemRefType, Operation, all_operations
from xtc.ir.pipeline import Step, run_steps
from xtc_passes.tensor.fuse_elementwise import FuseElementwise
from xtc_targets.mppa.options import MppaOptions
from xtc_targets.mppa.passes.distribute_by_default import DistributeByDefault
from xtc_targets.mppa.pipeline import scheduled

pytestmark = pytest.mark.slow

COUNT = max(5, settings().max_examples // 16)

MACHINES = (
    DistributeByDefault(),
    DistributeByDefault(clusters=1, pes=1),
    DistributeByDefault(clusters=2, pes=3, smem_bytes=8192),
    DistributeByDefault(clusters=4, pes=5, smem_bytes=4096),
    DistributeByDefault(arch="kv3-1", clusters=5, pes=16, smem_bytes=300),
)


def steps(machine: DistributeByDefault) -> tuple[Step, ...]:
    return ("canonicalize", FuseElementwise(), machine, "canonicalize", "cse")


def check(graph: Graph, machine: DistributeByDefault, *inputs: object) -> None:
    with (
        on_the_host(steps(machine)),
        xtc.compile(graph, in_memory=True, cache=False, opt_level=0) as module,
    ):
        module.check(*inputs)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_operator_and_type(dtype: str) -> None:
    graph, arrays = every_operator(dtype)
    machine = MACHINES[list(ELEMENT_TYPES).index(dtype) % len(MACHINES)]
    check(graph, machine, *arrays.values())


@pytest.mark.parametrize("family", FAMILIES)
def test_random_operators(family: str) -> None:
    @settings(max_examples=COUNT)
    @given(st.integers(0, (1 << 32) - 1))
    def property_holds(seed: int) -> None:
        rng = Random(seed)  # noqa: S311  data of a test
        graph = random_graph(rng, family)
        check(graph, rng.choice(MACHINES), *random_inputs(rng, graph))

    property_holds()


@settings(max_examples=COUNT * 2)
@given(graphs(), st.sampled_from(MACHINES), st.integers(0, 9))
def test_random_graphs(graph: Graph, machine: DistributeByDefault, seed: int) -> None:
    check(graph, machine, *inputs_of(graph, seed))


@settings(max_examples=COUNT * 4)
@given(graphs(), st.sampled_from(MACHINES))
def test_code_consists_of_loop_nests(graph: Graph, machine: DistributeByDefault) -> None:
    with placed_module(graph) as module:
        run_steps(module, (*steps(machine), *TO_MEMREFS))
        for nest in check_function(module):
            check_nest(nest)


def check_function(module: Operation) -> list[Operation]:
    """Check that the device's functions contain only nests, views and buffers."""
    nests = []
    for function in all_operations(module):
        if function.name == "func.func" and "xtc.device" in function.attributes:
            for op in function.regions[0].blocks[0].operations:
                name = op.operation.name
                if name == "scf.forall":
                    nests.append(op.operation)
                elif name == "memref.copy":  # a result that is another result, or an argument
                    raise AssertionError(str(op))
                else:
                    assert name.startswith(("memref.", "arith.constant", "func.return")), name
    return nests


def check_nest(nest: Operation) -> None:
    """Check that PEs are inside of clusters; clusters copy between memories, PEs compute."""
    assert "#gpu.block<linear_dim_0>" in str(nest.attributes["mapping"])
    for op in all_operations(nest)[1:]:
        inside = levels(op, nest)
        if op.name == "scf.forall":
            assert "#gpu.thread<linear_dim_0>" in str(op.attributes["mapping"])
            assert inside == 0, "PEs inside of PEs"
        elif op.name == "memref.alloc":
            assert space(op.results[0].type) == 2, op
        elif op.name == "memref.copy" and inside == 0:
            assert {space(value.type) for value in op.operands} == {0, 2}, str(nest)
        elif op.name.startswith("linalg.") and op.name != "linalg.yield":
            assert inside == 1, f"control code computes: {op}"


def levels(op: Operation, nest: Operation) -> int:
    """The number of loops over PEs around an operation of a nest."""
    count, around = 0, op.parent
    while around is not None and around != nest:
        count += around.name == "scf.forall"
        around = around.parent
    return count


def space(type: MemRefType) -> int:
    return int(str(MemRefType(type).memory_space or "0").split(":")[0])


def names(graph: Graph) -> Counter[str]:
    """The number of operations of each kind in the device's code."""
    with placed_module(graph) as module:
        run_steps(module, (*scheduled(MppaOptions()).steps, *TO_MEMREFS))
        nests = check_function(module)
        return Counter(op.name for nest in nests for op in all_operations(nest))


def test_an_epilogue_is_in_the_nest_of_its_matmul() -> None:
    a, b = O.tensor((512, 256), name="a"), O.tensor((256, 384), name="b")
    bias = O.tensor((384,), name="bias")
    with O.graph(name="layer") as gb:
        O.relu(O.add(O.matmul(a, b), bias))
    found = names(gb.graph)
    # Zeros, the sum in strips, and the epilogue: three loops over PEs in one over clusters.
    assert found["scf.forall"] == 4
    # Strips of both operands, the bias, and the result.
    assert found["memref.copy"] == 4
    # The sum's buffer is the result's.
    assert found["memref.alloc"] == 4


def test_softmax_is_one_nest() -> None:
    x = O.tensor((64, 100), name="x")
    with O.graph(name="rows") as gb:
        O.softmax(x)
    found = names(gb.graph)
    assert (found["scf.forall"], found["memref.copy"]) == (2, 2)


def test_data_movement_uses_no_pe() -> None:
    a, b = O.tensor((4, 30), name="a"), O.tensor((7, 30), name="b")
    with O.graph(name="stack") as gb:
        O.concat(a, b, axis=0)
    found = names(gb.graph)
    assert (found["scf.forall"], found["memref.copy"]) == (2, 4)


@pytest.mark.parametrize("machine", MACHINES[2:4], ids=["3 PEs", "5 PEs"])
def test_a_transposed_reader_of_a_sum_in_strips(machine: DistributeByDefault) -> None:
    """The bias is added at the sum's indices, which differ from those of the transposed result."""
    a, b, bias = O.tensor((4, 384)), O.tensor((384, 16)), O.tensor((16,))
    with O.graph(name="turned") as builder:
        shifted = O.add(O.matmul(a, b), bias)
        O.transpose(O.mul(shifted, O.sigmoid(shifted)))
    check(builder.graph, machine)
