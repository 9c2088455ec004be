# SPDX-License-Identifier: Apache-2.0
"""Matmuls without a schedule: tiles in shared memory on a GPU, for every form and size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.nvgpu_code import ARCHITECTURES, gpu, machine_code, needs_ptxas, ptx_of
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

COUNT = max(8, settings().max_examples // 10)


@pytest.fixture(scope="module")
def simulator() -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions(sim_schedule="shuffled")) as device:
        yield device


def matmul_graph(
    a: tuple[int, ...], b: tuple[int, ...], dtype: str = "float32", **how: Any
) -> xtc.Graph:
    left, right = O.tensor(a, dtype, name="A"), O.tensor(b, dtype, name="B")
    with O.graph(name="product") as graph:
        O.matmul(left, right, name="C", **how)
    return graph.graph


def counted(device: NvgpuDevice, graph: xtc.Graph) -> dict[str, int]:
    """The counters while the GPU runs a graph, whose result is checked."""
    with xtc.compile(graph, target=device) as module:
        before = device.counters()
        module.check()
        after = device.counters()
    return {name.removeprefix("nvgpu."): int(after[name] - before[name]) for name in after}


@pytest.mark.parametrize(
    ("a", "b", "how"),
    [
        ((64, 32), (32, 96), {}),
        ((70, 33), (33, 50), {}),
        ((64, 16), (16, 64), {}),
        ((64, 40), (64, 40), {"transpose_b": True}),
        ((48, 64), (48, 64), {"transpose_a": True}),
        ((3, 33, 32), (3, 32, 64), {}),
        ((2, 64, 32), (32, 64), {}),
        ((64, 32), (2, 32, 64), {}),
    ],
)
def test_every_form_is_tiled(
    simulator: NvgpuDevice, a: tuple[int, ...], b: tuple[int, ...], how: Any
) -> None:
    assert counted(simulator, matmul_graph(a, b, **how))["SHARED_READS"] > 0
    assert simulator.memory_info()[0] == 0


@pytest.mark.parametrize("dtype", ["float64", "int8", "int16", "int32", "int64"])
def test_every_type_is_tiled(simulator: NvgpuDevice, dtype: str) -> None:
    assert counted(simulator, matmul_graph((70, 33), (33, 50), dtype))["SHARED_READS"] > 0


@settings(
    max_examples=COUNT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    sizes=st.tuples(*[st.integers(1, 150)] * 3),
    batch=st.integers(1, 3),
    transpose_a=st.booleans(),
    transpose_b=st.booleans(),
)
def test_any_size_agrees_with_numpy(
    simulator: NvgpuDevice,
    sizes: tuple[int, int, int],
    batch: int,
    transpose_a: bool,
    transpose_b: bool,
) -> None:
    m, n, k = sizes
    a = (batch, k, m) if transpose_a else (batch, m, k)
    b = (batch, n, k) if transpose_b else (batch, k, n)
    counted(simulator, matmul_graph(a, b, transpose_a=transpose_a, transpose_b=transpose_b))


def test_shared_memory_saves_global_reads(simulator: NvgpuDevice) -> None:
    size = 256
    words = size**3
    events = counted(simulator, matmul_graph((size, size), (size, size)))
    # Without tiles, each multiply-add takes two reads.
    assert events["GLOBAL_READ_BYTES"] < 4 * 2 * words // 25
    assert events["GLOBAL_READS"] == events["GLOBAL_READ_BYTES"] // 16
    assert events["SHARED_READ_BYTES"] < 4 * 2 * words


def test_the_default_schedule_is_printed(simulator: NvgpuDevice) -> None:
    with xtc.compile(matmul_graph((256, 256), (256, 256)), target=simulator) as module:
        shown = str(module.schedule)
    assert "for k in 0..256 step 16  // pack 0, pack 1" in shown
    assert "for j#4 in 0..4  // vectorize" in shown
    with xtc.compile(matmul_graph((100, 90), (90, 100)), target=simulator) as module:
        assert str(module.schedule) == ""


def test_small_matmuls_are_not_tiled(simulator: NvgpuDevice) -> None:
    for a, b in [((8, 8), (8, 8)), ((64, 1), (1, 64)), ((20, 20), (20, 1))]:
        assert counted(simulator, matmul_graph(a, b))["BARRIERS"] == 0


@needs_ptxas
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("size", "dtype"), [(2048, "float32"), (512, "float32"), (1000, "float32"), (1024, "float64")]
)
def test_nothing_spills(arch: str, size: int, dtype: str, tmp_path: Path) -> None:
    ptx = ptx_of(matmul_graph((size, size), (size, size), dtype), gpu(arch))
    for word in ("ld.shared.v", "ld.global.nc.v", "st.shared.v", "st.global.v", "bar.sync"):
        assert word in ptx
    told = machine_code(ptx, arch, tmp_path).said
    assert set(re.findall(r"(\d+) bytes spill", told)) == {"0"}


@needs_ptxas
def test_a_small_buffer_of_a_thread_is_in_registers(tmp_path: Path) -> None:
    nest = {
        "i": "parallelize",
        "j": "parallelize",
        "i#64": "parallelize",
        "j#64": {"parallelize": True, "buffer": True},
        "k": "unroll:2",
        "i#8": "unroll",
        "j#4": "vectorize",
    }
    graph = matmul_graph((256, 256), (256, 256))
    ptx = ptx_of(graph, gpu("sm_90a"), xtc.Schedule.of(graph, {"C": nest}, "nvgpu"))
    assert ".local" not in ptx
    assert set(machine_code(ptx, "sm_90a", tmp_path).spilled_bytes.values()) == {0}
