# SPDX-License-Identifier: Apache-2.0
"""Networks whose temporary arrays share an arena that the module keeps."""

from __future__ import annotations

import itertools
import resource
import threading
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import xtc
from benchmarks.networks import NETWORKS
from tests.unit.arena_graphs import arena_graph
from xtc.core.errors import UserError
from xtc.ir.builders.numbers import constant, index_constant
from xtc.ir.mlir import (
    Attribute,
    InsertionPoint,
    IntegerType,
    MemRefType,
    Operation,
    Value,
    arith,
    memref,
)
from xtc.ir.partition import symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_passes.local._placement import lower_bound, place
from xtc_passes.tensor.fuse_elementwise import FuseElementwise
from xtc_targets.host.passes import plan_arena
from xtc_targets.host.passes.fuse_epilogues import FuseEpilogues
from xtc_targets.host.passes.fuse_rows import FuseRows
from xtc_targets.host.passes.plan_arena import PlanArena

_FUSIONS: tuple[type[Pass], ...] = (FuseElementwise, FuseEpilogues, FuseRows)


@dataclass(frozen=True)
class _TwoPlans(Pass):
    """Let buffers share arena memory in odd calls, and give each a separate offset otherwise."""

    name: ClassVar[str] = "two-plans"
    wrong: bool = False

    def run(self, module: Operation) -> None:
        for function in top_level(module):
            if symbol_of(function) == "random":
                with module.context, function.location:
                    self._plan(module, function)

    def _plan(self, module: Operation, function: Operation) -> None:
        buffers = list(plan_arena.buffers_of(function))
        extents = [buffer.extent for buffer in buffers]
        shared = [0 for _ in extents] if self.wrong else place(extents)
        apart = list(itertools.accumulate((extent.size for extent in extents), initial=0))
        with InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
            arena = plan_arena.arena_of(apart[-1], lower_bound(extents))
            is_odd = _is_odd_call(module)
            offsets = [
                arith.select(is_odd, index_constant(here), index_constant(there))
                for here, there in zip(shared, apart[:-1], strict=True)
            ]
        plan_arena.replace(buffers, offsets, arena)


def _is_odd_call(module: Operation) -> Value:
    """Whether it is the first call of the function, the third, and so on."""
    type = MemRefType.get([1], IntegerType.get_signless(32))
    ip = InsertionPoint.at_block_begin(module.regions[0].blocks[0])
    zero = Attribute.parse("dense<0> : tensor<1xi32>")
    memref.global_("calls", type, sym_visibility="private", initial_value=zero, ip=ip)
    calls = memref.get_global(type, "calls")
    before = memref.load(calls, [index_constant(0)])
    now = arith.addi(before, constant(1, IntegerType.get_signless(32)))
    memref.store(now, calls, [index_constant(0)])
    return arith.trunci(IntegerType.get_signless(1), now)


def _results(
    graph: xtc.Graph, plan: Pass, patch: pytest.MonkeyPatch, threads: int = 1
) -> list[list[bytes]]:
    """Of four calls: arena, fresh buffers, arena, fresh buffers."""
    rng = np.random.default_rng(1)
    inputs = [rng.random(t.type.sizes, np.float32) - np.float32(0.5) for t in graph.inputs]
    with patch.context() as patched:
        patched.setattr(PlanArena, "run", lambda _, module: plan.run(module))
        with xtc.compile(graph, in_memory=True, threads=threads, opt_level=0) as module:
            return [_bytes(module(*inputs)) for _ in range(4)]


def _bytes(result: object) -> list[bytes]:
    arrays = result if isinstance(result, tuple) else (result,)
    return [np.asarray(array).tobytes() for array in arrays]


@pytest.mark.slow
def test_arenas_change_no_results(is_long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(1000 if is_long else 3):
        if seed % 10:  # kernels as they are, so that most of the time is not theirs
            for fusion in _FUSIONS:
                monkeypatch.setattr(fusion, "run", lambda _, module: None)
        threads = 1 + (seed % 4 == 1)
        arena, *others = _results(arena_graph(seed), _TwoPlans(), monkeypatch, threads)
        monkeypatch.undo()
        assert others == [arena] * 3, seed


@pytest.mark.slow
def test_overlapping_plans_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    arena, fresh, *_ = _results(arena_graph(1), _TwoPlans(wrong=True), monkeypatch)
    assert arena != fresh


@pytest.fixture(scope="module")
def network() -> xtc.Graph:
    return NETWORKS["vit_s"](True)


@pytest.mark.slow
def test_concurrent_calls_have_separate_arenas_and_close_waits(network: xtc.Graph) -> None:
    rng = np.random.default_rng(0)
    images = [rng.random((1, 32, 32, 3), np.float32) for _ in range(4)]
    module = xtc.compile(network, threads=1)
    assert int(module.artifact.manifest.toolchain["arena_bytes"]) == int(
        module.artifact.manifest.toolchain["arena_least_bytes"]
    )
    expected = [module(image) for image in images]
    wrong: list[int] = []
    closed = threading.Event()

    def call_again(number: int) -> None:
        while True:
            try:
                result = module(images[number])
            except UserError:
                assert closed.is_set()
                return
            if not np.array_equal(result, expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=call_again, args=(n,)) for n in range(len(images))]
    for thread in threads:
        thread.start()
    threading.Event().wait(0.3)
    closed.set()
    module.close()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_random_networks_give_equal_results_concurrently_and_after_errors(threads: int) -> None:
    """Calls give the bytes of the first, beside another call and after a refused one too."""
    network = arena_graph(1)
    rng = np.random.default_rng(0)
    arrays = [[rng.random(t.type.sizes, np.float32) for t in network.inputs] for _ in range(2)]
    wrong: list[int] = []
    with xtc.compile(network, threads=threads, opt_level=0) as module:
        expected = [_bytes(module(*inputs)) for inputs in arrays]

        def call_again(number: int) -> None:
            for _ in range(50):
                with pytest.raises(UserError):
                    module(*arrays[number], arrays[number][0])
                if _bytes(module(*arrays[number])) != expected[number]:
                    wrong.append(number)

        callers = [threading.Thread(target=call_again, args=(n,)) for n in range(2)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("is_random", [False, True])
def test_later_calls_cause_no_page_faults(network: xtc.Graph, is_random: bool) -> None:
    graph = arena_graph(1) if is_random else network
    inputs = [np.zeros(tensor.type.sizes, np.float32) for tensor in graph.inputs]
    outputs = [np.empty(tensor.type.sizes, np.float32) for tensor in graph.outputs]
    with xtc.compile(graph, threads=1) as module, module._bound(inputs, outputs) as call:
        for _ in range(3):
            call()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(100):
            call()
        assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 10
