# SPDX-License-Identifier: Apache-2.0
"""Random schedules of random operators do not change what the simulated GPU computes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import settings

import xtc
import xtc.ops as O
from tests.unit.nvgpu_nests import blocked_schedule
from tests.unit.random_operators import FAMILIES, random_inputs
from tests.unit.test_random_schedules import legal_schedule
from xtc.core.errors import UserError
from xtc.evaluate.compare import MismatchError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions
from xtc_targets.nvgpu.passes import distribute_blocks

pytestmark = pytest.mark.slow

COUNT = max(2, settings().max_examples // 25)
"""Schedules of each family."""


@pytest.fixture(scope="module")
def gpu() -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions(sim_schedule="shuffled")) as device:
        yield device


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(COUNT))
def test_a_schedule_changes_no_result(gpu: NvgpuDevice, family: str, seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    schedule = legal_schedule(rng, family, "nvgpu")
    with xtc.compile(schedule.graph, target=gpu, schedule=schedule) as module:
        module.check(*random_inputs(rng, schedule.graph))
    assert gpu.memory_info()[0] == 0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(2 * COUNT))
def test_blocks_and_threads_change_no_result(gpu: NvgpuDevice, family: str, seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    schedule = blocked_schedule(rng, family)
    with xtc.compile(schedule.graph, target=gpu, schedule=schedule) as module:
        module.check(*random_inputs(rng, schedule.graph))
    assert gpu.memory_info()[0] == 0


def test_a_parallel_loop_is_distributed_over_threads(gpu: NvgpuDevice) -> None:
    a, b = O.tensor((40, 16), name="A"), O.tensor((16, 24), name="B")
    with O.graph(name="product") as graph:
        O.matmul(a, b, name="C")
    schedule = xtc.Schedule(graph.graph)
    schedule["C"].strip_mine("j", {"j1": 8}).vectorize("j1").parallelize("i")
    with xtc.compile(graph, target=gpu, schedule=schedule) as module:
        before = gpu.counters()
        module.check()
        after = gpu.counters()
    counted = {
        name: after[f"nvgpu.{name}"] - before[f"nvgpu.{name}"] for name in ("LAUNCHES", "THREADS")
    }
    # Zeros for 40 * 24 elements by 4 blocks of 256 threads, then a thread for each row.
    assert counted == {"LAUNCHES": 2, "THREADS": 4 * 256 + 64}


def test_a_buffer_too_large_for_a_thread_is_refused(gpu: NvgpuDevice) -> None:
    a, b = O.tensor((40, 200), name="A"), O.tensor((200, 100), name="B")
    with O.graph(name="product") as graph:
        O.matmul(a, b, name="C")
    schedule = xtc.Schedule(graph.graph)
    schedule["C"].parallelize("i").pack_at("i", 1)
    with pytest.raises(UserError, match="needs 80000 bytes for each thread's buffers") as error:
        xtc.compile(graph, target=gpu, schedule=schedule)
    assert "choose smaller tiles" in error.value.hints[0]


@pytest.mark.parametrize(("threads", "started"), [(32, 160), (100, 200), (1024, 160)])
def test_blocks_have_the_requested_threads(gpu: NvgpuDevice, threads: int, started: int) -> None:
    x = O.tensor((5, 29), name="X")
    with O.graph(name="f") as graph:
        O.relu(x, name="Y")
    before = gpu.counters()["nvgpu.THREADS"]
    with xtc.compile(graph, target=gpu, block_threads=threads) as module:
        module.check()
    assert gpu.counters()["nvgpu.THREADS"] - before == started


TILED = {
    "i": "parallelize",
    "j": "parallelize",
    "k": {"pack": [0, 1]},
    "i#32": "parallelize",
    "j#64": "parallelize",
    "k#16": "unroll:4",
    "i#8": "unroll",
    "j#4": "vectorize",
}


def matmul_graph(size: int) -> xtc.Graph:
    a, b = O.tensor((size, size), name="A"), O.tensor((size, size), name="B")
    with O.graph(name="product") as graph:
        O.matmul(a, b, name="C")
    return graph.graph


def counted(gpu: NvgpuDevice, graph: xtc.Graph, schedule: object) -> dict[str, int]:
    """The counters while the GPU runs a graph, whose result is checked."""
    with xtc.compile(graph, target=gpu, schedule=schedule) as module:
        before = gpu.counters()
        module.check()
        after = gpu.counters()
    return {name.removeprefix("nvgpu."): int(after[name] - before[name]) for name in after}


def test_a_tile_in_shared_memory_saves_global_reads(gpu: NvgpuDevice) -> None:
    size = 128
    events = counted(gpu, matmul_graph(size), {"C": TILED})
    # Blocks of 32 x 64 results read 4 times the columns of A and twice the rows of B; then what is
    # added to. Zeros are written before. All of it by 16 bytes.
    words = size * size
    assert events["GLOBAL_READ_BYTES"] == 4 * (2 * words + 4 * words + words)
    assert events["GLOBAL_WRITE_BYTES"] == 4 * (words + words)
    assert events["GLOBAL_READS"] == events["GLOBAL_READ_BYTES"] // 16
    # What is packed is written once for each block; four rows are read by a thread for 32 sums.
    assert events["SHARED_WRITE_BYTES"] == 4 * (2 * words + 4 * words)
    assert events["BARRIERS"] == 8 * 2 * (size // 16)


def test_a_kernel_without_barriers_is_detected(
    gpu: NvgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distribute_blocks, "insert_barriers", lambda _body: None)
    with pytest.raises(MismatchError):
        counted(gpu, matmul_graph(128), {"C": TILED})


def test_sums_in_a_shared_buffer_are_synchronized(gpu: NvgpuDevice) -> None:
    tile = {"parallelize": True, "buffer": True}
    counted(gpu, matmul_graph(128), {"C": TILED | {"j": tile, "k": {"pack": [0]}, "k#16": {}}})


def test_a_buffer_too_large_for_a_block_is_refused(gpu: NvgpuDevice) -> None:
    schedule = {"i": {"parallelize": True, "pack": 1}, "j": "parallelize", "k": {}, "i#64": {}}
    with pytest.raises(UserError, match="needs 262144 bytes of shared memory"):
        xtc.compile(matmul_graph(256), target=gpu, schedule={"C": schedule})
