# SPDX-License-Identifier: Apache-2.0
"""Random float16 graphs of tiles that tensor cores take compute what NumPy computes."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

import xtc
import xtc.ops as O
from tests.unit.half_graphs import half_graph, half_inputs, values
from xtc.runtime import DriverDevice
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

IS_LONG = settings().max_examples > 100
GPU_GRAPHS, MPPA_GRAPHS = (500, 500) if IS_LONG else (10, 3)
PART = 50  # graphs per test
ARCHITECTURES = ("sm_90a", "sm_80")


@pytest.fixture(scope="module", params=[*ARCHITECTURES, "mppa"])
def device(request: pytest.FixtureRequest) -> Iterator[DriverDevice]:
    """Each GPU, and an MPPA whose transfers complete as late as possible."""
    gc.collect()
    if request.param == "mppa":
        with MppaDevice(MppaOptions(dma_mode="deferred")) as opened:
            yield opened
    else:
        with NvgpuDevice(NvgpuOptions(arch=request.param)) as opened_gpu:
            yield opened_gpu


def _graphs_of(device: DriverDevice) -> list[int]:
    """The seeds of the graphs for a device; architectures take turns."""
    if device.target_name == "mppa":
        return list(range(MPPA_GRAPHS))
    return list(range(ARCHITECTURES.index(device.device_arch), GPU_GRAPHS, len(ARCHITECTURES)))


@pytest.mark.parametrize("part", range(-(-max(GPU_GRAPHS, MPPA_GRAPHS) // PART)))
def test_graphs_agree_with_numpy(device: DriverDevice, part: int) -> None:
    for seed in _graphs_of(device):
        if seed // PART == part:
            graph = half_graph(seed, device)
            with xtc.compile(graph) as module:
                module.check(*half_inputs(graph, seed))
            assert device.memory_info()[0] == 0


def test_a_contraction_writes_next_to_its_operand() -> None:
    with NvgpuDevice() as device:
        a, b = O.tensor((128, 96), "float16", name="A"), O.tensor((96, 64), "float16", name="B")
        c, d = O.tensor((64, 33), "float16", name="C"), O.tensor((97, 100), "float16", name="D")
        with O.graph(name="beside") as gb:
            left = O.matmul(a, b, device=device)
            right = O.matmul(left, c, device=device)
            O.matmul(O.concat(left, right, axis=1, device=device), d, device=device)
        with xtc.compile(gb.graph) as module:
            module.check(*(values(tuple(t.type.sizes), 7) for t in gb.graph.inputs))
